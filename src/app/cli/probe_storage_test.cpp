#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cli/probe_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "core/base/digest.h"
#include "live/agent/test_folder.h"
#include "live/net/running_server_fixture.h"
#include "live/s3/hash.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Objects by path, and the paths that were written, by kind of name.
class ProbedStore {
 public:
  std::set<std::string> small, large, parted;
  std::size_t large_bytes = 0;
  std::string authorization;  // header of the last request
  std::set<std::string> writers;
  bool made_bucket = false;

  net::Response answer(const net::Request& request) {
    const std::scoped_lock lock(mutex_);
    authorization = request.header("Authorization");
    const std::string path(net::path_of(request));
    if (path == "/pail") return of_bucket(request);
    if (request.method == "PUT") return put(request, path);
    if (request.method == "POST") {
      const bool begins = request.target.ends_with("uploads=");
      if (!begins) parted.insert(path);
      return {.body = begins ? "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                               "</InitiateMultipartUploadResult>"
                             : "<CompleteMultipartUploadResult/>"};
    }
    if (request.method == "DELETE") return {.status = 204};
    return get(request, path);
  }

 private:
  net::Response of_bucket(const net::Request& request) {
    if (request.method == "PUT") made_bucket = true;
    return {.body = "<ListBucketResult></ListBucketResult>"};
  }
  net::Response put(const net::Request& request, const std::string& path) {
    const std::string etag = '"' + to_hex(s3::md5(request.body)) + '"';
    if (!request.header("x-amz-meta-orrery-writer").empty()) {
      writers.emplace(request.header("x-amz-meta-orrery-writer"));
    }
    if (request.target.find("partNumber=") != std::string::npos) {
      return {.headers = {{"ETag", etag}}};
    }
    const bool again = !objects_.emplace(path, request.body).second;
    if (again && !request.header("If-None-Match").empty()) {
      return {.status = 412, .body = "<Error><Code>PreconditionFailed</Code></Error>"};
    }
    if (path.find("/small-") != path.npos) small.insert(path);
    if (path.find("/large-") != path.npos) {
      large.insert(path);
      large_bytes = request.body.size();
    }
    return {.headers = {{"ETag", etag}}};
  }
  net::Response get(const net::Request& request, const std::string& path) const {
    const auto at = objects_.find(path);
    if (at == objects_.end()) return {.status = 404};
    const std::string range(request.header("Range"));
    const std::string etag = '"' + to_hex(s3::md5(at->second)) + '"';
    if (range.empty()) return {.body = at->second, .headers = {{"ETag", etag}}};
    const std::size_t from = std::stoull(range.substr(6));
    const std::size_t last = std::stoull(range.substr(range.find('-') + 1));
    return {
        .status = 206,
        .body = at->second.substr(from, last - from + 1),
        .headers = {{"Content-Range", "bytes " + std::to_string(from) + '-' + std::to_string(last) +
                                          '/' + std::to_string(at->second.size())}}};
  }
  std::map<std::string, std::string> objects_;
  std::mutex mutex_;
};

class ProbeBucketWords : public testing::Test {
 protected:
  static net::ServerOptions options() {
    net::ServerOptions made;
    made.body_bytes_max = 64 << 20;
    return made;
  }
  VerbAnswer probe(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "probe", "storage", "s3://pail/below", "--endpoint", server.url(""), "--repeats", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  }
  ProbedStore store;
  net::RunningServer server{[this](const net::Request& r) { return store.answer(r); }, options()};
  Variable key_{"AWS_ACCESS_KEY_ID", "AKPROBE"}, secret_{"AWS_SECRET_ACCESS_KEY", "s"};
  Variable token_{"AWS_SESSION_TOKEN", std::nullopt};
  Variable region_{"AWS_REGION", std::nullopt}, other_region_{"AWS_DEFAULT_REGION", std::nullopt};
};

TEST_F(ProbeBucketWords, a_quick_bucket_probe_is_small) {
  const VerbAnswer a =
      probe({"--quick", "--streams", "2", "--size", "65536 B", "--format", "json"});
  ASSERT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_EQ(store.small.size(), 50U);
  EXPECT_EQ(store.large.size(), 4U);
  EXPECT_EQ(store.parted.size(), 2U) << "a checkpoint a stream";
  EXPECT_EQ(store.large_bytes, 65'536U);
  EXPECT_FALSE(store.made_bucket);
  EXPECT_THAT(*store.small.begin(), HasSubstr("/pail/below/orrery-probe-"));
  const Json report = Json::parse(a.out);
  EXPECT_EQ(report["target"], "s3://pail/below");
  EXPECT_EQ(report["target_kind"], "bucket");
  EXPECT_EQ(report["conditions"]["endpoint"], server.url(""));
  EXPECT_EQ(report["conditions"]["streams"], "2");
  EXPECT_EQ(report["figures"][0]["label"], "PUT of 4096 B, 2 streams");
  EXPECT_EQ(report["figures"][0]["repeats"], 1);
  EXPECT_THAT(store.authorization, AllOf(HasSubstr("AKPROBE/"), HasSubstr("/us-east-1/s3/")));
  ASSERT_FALSE(store.writers.empty());
  EXPECT_THAT(*store.writers.begin(),
              AllOf(testing::StartsWith("orrery-probe-"), testing::EndsWith("-0")));
}

TEST_F(ProbeBucketWords, a_full_bucket_probe_puts_100_small_objects_per_stream) {
  const Variable region("AWS_DEFAULT_REGION", "eu-9");
  const VerbAnswer a = probe({"--streams", "1", "--size", "65536 B", "--create-bucket"});
  ASSERT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_EQ(store.small.size(), 100U);
  EXPECT_EQ(store.large.size(), 2U);
  EXPECT_TRUE(store.made_bucket);
  EXPECT_THAT(store.authorization, HasSubstr("/eu-9/s3/"));
  const Variable first("AWS_REGION", "ap-2");
  probe({"--streams", "1", "--size", "65536 B", "--seconds", "0.05"});
  EXPECT_THAT(store.authorization, HasSubstr("/ap-2/s3/"));
  probe({"--streams", "1", "--size", "65536 B", "--seconds", "0.05", "--region", "us-3"});
  EXPECT_THAT(store.authorization, HasSubstr("/us-3/s3/"));
}

// Three repeats with --quick, otherwise five.
TEST_F(ProbeBucketWords, quick_bucket_probes_repeat_less) {
  const auto repeats = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "probe",  "storage", "s3://pail/below", "--endpoint", server.url(""), "--streams", "1",
        "--size", "65536 B", "--seconds",       "0.05",       "--format",     "json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(spoken(words).out, nullptr, false)["figures"][0]["repeats"].get<int>();
  };
  EXPECT_EQ(repeats({"--quick"}), 3);
  EXPECT_EQ(repeats({}), 5);
  EXPECT_THAT(faults_in(probe({"--region", "Mars_1", "--streams", "0"}).err),
              ElementsAre("--region usage.value", "--streams usage.value"));
}

TEST_F(ProbeBucketWords, object_sizes_have_bounds) {
  const auto refused = [&](const std::string& size) {
    return faults_in(probe({"--size", size, "--streams", "300"}).err);
  };
  for (const char* size : {"65536 B", "65537 B", "5 GB"}) {
    EXPECT_THAT(refused(size), ElementsAre("--streams usage.value")) << size;
  }
  for (const char* size : {"65535 B", "5000000001 B"}) {
    EXPECT_THAT(refused(size), ElementsAre("--streams usage.value", "--size usage.value")) << size;
  }
}

// Largest number of files of each kind that existed when the probe asked whether to continue.
class ProbeCounts : public testing::Test {
 protected:
  int made(const std::string& part, const std::string& kind, const std::vector<int>& counts,
           const std::vector<std::string>& more) const {
    int most = 0;
    const auto look = [&] {
      if (below.empty()) {
        for (const auto& entry : fs::directory_iterator(folder.path())) {
          below = entry.path().string();
        }
      }
      for (const int n : counts) {
        if (n > most && fs::exists(below + "/0/" + kind + '-' + std::to_string(n - 1))) most = n;
      }
      return false;
    };
    below.clear();
    std::vector<std::string> words = {"probe",     "storage", folder.path(), "--only", part,
                                      "--streams", "1",       "--seconds",   "60",     "--repeats",
                                      "1"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(spoken(words, {.interrupted = look}).code, ExitCode::good);
    return most;
  }
  agent::TestFolder folder{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  mutable std::string below;
};

TEST_F(ProbeCounts, empty_file_count) {
  EXPECT_EQ(made("metadata", "meta", {500, 501, 533, 2000, 2001, 2133}, {}), 2000);
  EXPECT_EQ(made("metadata", "meta", {500, 501, 533, 2000, 2001, 2133}, {"--quick"}), 500);
}

TEST_F(ProbeCounts, sample_count) {
  EXPECT_EQ(made("samples", "sample", {100, 101, 106, 500, 501, 533}, {"--quick"}), 100);
}

TEST_F(ProbeVerb, sizes_are_whole_sectors_within_bounds) {
  expect_good_value({"--block", "4096 B"});
  expect_good_value({"--block", "64 MiB"});
  expect_value_fault({"--block", "4095 B"}, "--block");
  expect_value_fault({"--block", "6000 B"}, "--block");
  expect_value_fault({"--block", "0 B"}, "--block");
  expect_value_fault({"--block", "67112960 B"}, "--block");  // one sector too many
  expect_value_fault({"--block", "large"}, "--block");
  expect_good_value({"--random-block", "12 KiB"});
  expect_value_fault({"--random-block", "65 MiB"}, "--random-block");
  // A file holds at least one block of each kind.
  expect_good_value({"--size", "1 MiB"});
  expect_value_fault({"--size", "1044480 B"}, "--size");
  expect_good_value({"--size", "8 KiB", "--block", "8 KiB"});
  expect_value_fault({"--size", "8 KiB", "--block", "4 KiB", "--random-block", "12 KiB"}, "--size");
}

TEST_F(ProbeVerb, counts_and_durations_have_bounds) {
  const std::pair<const char*, int> most[] = {
      {"--depth", 1024}, {"--random-depth", 4096}, {"--streams", 256}, {"--repeats", 1000}};
  for (const auto& [option, n] : most) {
    expect_good_value({option, "1"});
    expect_good_value({option, std::to_string(n)});
    expect_value_fault({option, "0"}, option);
    expect_value_fault({option, std::to_string(n + 1)}, option);
  }
  expect_good_value({"--seconds", "0.05"});
  expect_good_value({"--seconds", "600"});
  expect_value_fault({"--seconds", "0.049"}, "--seconds");
  expect_value_fault({"--seconds", "601"}, "--seconds");
  const VerbAnswer two = storage({"--depth", "0", "--streams", "0"});
  EXPECT_EQ(std::ranges::count(two.err, '['), 2);
  EXPECT_THAT(storage({"--only", "nosuch"}).err, HasSubstr("metadata"));
}

TEST_F(ProbeVerb, quick_probes_repeat_less) {
  folder.write("file", std::string(65'536, 'x'));
  const auto repeats = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"probe", "storage",    folder.at("file"), "--seconds",
                                      "0.05",  "--only",     "random",          "--format",
                                      "json",  "--buffered", "--block",         "4 KiB"};
    words.insert(words.end(), more.begin(), more.end());
    const Json report = Json::parse(spoken(words).out, nullptr, false);
    return report.is_object() ? report["figures"][0]["repeats"].get<int>() : 0;
  };
  EXPECT_EQ(repeats({}), 5);
  EXPECT_EQ(repeats({"--quick"}), 3);
}

TEST_F(ProbeVerb, an_interrupted_probe_exits_with_130) {
  const VerbAnswer a =
      storage(small({"--block", "4 KiB", "--repeats", "1"}), {.interrupted = [] { return true; }});
  EXPECT_EQ(a.code, ExitCode::interrupted);
}

constexpr const char* kProbedDesign = R"(
orrery: 1
name: small
site: { region: usa }
fleet: [{ name: train, node: dgx-h100, count: 1 }]
storage:
  - { tier: hot, kind: parallel-fs, servers: 2, read: RATE, write: RATE, capacity: 100 TB }
)";

TEST_F(ProbeVerb, a_design_is_compared_with_what_was_measured) {
  const auto against = [&](const std::string& rate, const std::vector<std::string>& more) {
    std::string text = kProbedDesign;
    for (std::size_t at = text.find("RATE"); at != text.npos; at = text.find("RATE")) {
      text.replace(at, 4, rate);
    }
    folder.write("d/d.yaml", text);
    std::vector<std::string> words = small({"--block", "4 KiB", "--repeats", "2", "--only",
                                            "sequential", "--design", folder.at("d/d.yaml")});
    words.insert(words.end(), more.begin(), more.end());
    return storage(words);
  };
  const VerbAnswer slow = against("900 TB/s", {"--tier", "hot"});
  EXPECT_EQ(slow.code, ExitCode::fails_rule) << slow.err;
  EXPECT_THAT(slow.out, HasSubstr("hot"));
  EXPECT_EQ(against("1 kB/s", {"--tier", "hot"}).code, ExitCode::good);
  EXPECT_EQ(against("1 kB/s", {"--tier", "lukewarm"}).code, ExitCode::bad_input);
  EXPECT_THAT(against("1 kB/s", {"--tier", "hot", "--format", "json"}).out, HasSubstr("\"hot\""));
  EXPECT_EQ(storage({"--design", folder.at("none.yaml")}).code, ExitCode::bad_input);
}

TEST_F(ProbeVerb, a_bucket_needs_a_name_keys_a_region_and_an_endpoint) {
  const Variable none("AWS_ACCESS_KEY_ID", std::nullopt);
  const Variable secret("AWS_SECRET_ACCESS_KEY", "s");
  const auto bucket = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"probe", "storage", "s3://bucket/run"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words).err;
  };
  EXPECT_THAT(spoken({"probe", "storage", "s3://b"}).err, HasSubstr("[s3.place]"));
  EXPECT_THAT(bucket({}), HasSubstr("[s3.credentials]"));
  const Variable key("AWS_ACCESS_KEY_ID", "k");
  EXPECT_THAT(bucket({"--endpoint", "ftp://x"}), HasSubstr("[s3.endpoint]"));
  const std::string at = "http://127.0.0.1:1";
  EXPECT_THAT(bucket({"--endpoint", at, "--region", "Mars_1"}), HasSubstr("--region: error"));
  EXPECT_THAT(bucket({"--endpoint", at, "--streams", "257"}), HasSubstr("--streams: error"));
  EXPECT_THAT(bucket({"--endpoint", at, "--size", "65535 B"}), HasSubstr("--size: error"));
  EXPECT_THAT(bucket({"--endpoint", at, "--size", "5.1 GB"}), HasSubstr("--size: error"));
  const Variable region("AWS_REGION", "MARS");
  EXPECT_THAT(bucket({"--endpoint", at}), HasSubstr("--region: error"));
}

// All faults are reported at once, and a wrong number of streams prevents any request.
TEST(ProbeStorage, bucket_regions_and_repeats_have_bounds) {
  const Variable id("AWS_ACCESS_KEY_ID", "k"), secret("AWS_SECRET_ACCESS_KEY", "s");
  const auto faults = [](const std::string& region, const std::string& repeats) {
    const VerbAnswer a =
        spoken({"probe", "storage", "s3://bucket/p", "--endpoint", "http://127.0.0.1:9",
                "--streams", "257", "--region", region, "--repeats", repeats});
    EXPECT_EQ(a.code, ExitCode::bad_input);
    return faults_in(a.err);
  };
  for (const char* region : {"a", "z", "0", "9", "-", "az-09"}) {
    EXPECT_THAT(faults(region, "1000"), ElementsAre("--streams usage.value")) << region;
  }
  for (const char* region : {"A", "a_b", "a.b", "a/b", "a:b", "a{b", "a`b"}) {
    EXPECT_THAT(faults(region, "1"), ElementsAre("--region usage.value", "--streams usage.value"))
        << region;
  }
  for (const char* repeats : {"1001", "0"}) {
    EXPECT_THAT(faults("a", repeats),
                ElementsAre("--streams usage.value", "--repeats usage.value"));
  }
}

}  // namespace
}  // namespace orrery::cli
