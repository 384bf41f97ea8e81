// `orrery probe storage s3://...` against a store on loopback: how many objects of which size it
// puts, whose keys and region it signs with, and what it says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cli/spoken_fixture.h"
#include "core/base/digest.h"
#include "live/agent/test_folder.h"
#include "live/net/running_server_fixture.h"
#include "live/s3/hash.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

// Objects by their path, and what was put below which kind of name.
class ProbedStore {
 public:
  std::set<std::string> small, large, parted;
  std::size_t large_bytes = 0;
  std::string authorization;  // of the last request
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

TEST_F(ProbeBucketWords, a_quick_one_puts_25_small_and_two_large_objects_a_stream) {
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
              AllOf(testing::StartsWith("orrery-probe-"), testing::EndsWith("-0")))
      << "who wrote it is told apart from any other";
}

TEST_F(ProbeBucketWords, a_whole_one_puts_100_small_objects_a_stream) {
  const Variable region("AWS_DEFAULT_REGION", "eu-9");
  const VerbAnswer a = probe({"--streams", "1", "--size", "65536 B", "--create-bucket"});
  ASSERT_EQ(a.code, ExitCode::good) << a.err;
  EXPECT_EQ(store.small.size(), 100U);
  EXPECT_EQ(store.large.size(), 2U);
  EXPECT_TRUE(store.made_bucket);
  EXPECT_THAT(store.authorization, HasSubstr("/eu-9/s3/"));
  EXPECT_THAT(a.out, testing::StartsWith("storage probe of s3://pail/below (bucket)\n"));
  const Variable first("AWS_REGION", "ap-2");
  probe({"--streams", "1", "--size", "65536 B", "--seconds", "0.05"});
  EXPECT_THAT(store.authorization, HasSubstr("/ap-2/s3/"));
  probe({"--streams", "1", "--size", "65536 B", "--seconds", "0.05", "--region", "us-3"});
  EXPECT_THAT(store.authorization, HasSubstr("/us-3/s3/"));
}

// Three repeats where it is quick, else five.
TEST_F(ProbeBucketWords, repeats_are_fewer_where_it_is_quick) {
  const auto repeats = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "probe",  "storage", "s3://pail/below", "--endpoint", server.url(""), "--streams", "1",
        "--size", "65536 B", "--seconds",       "0.05",       "--format",     "json"};
    words.insert(words.end(), more.begin(), more.end());
    return Json::parse(spoken(words).out, nullptr, false)["figures"][0]["repeats"].get<int>();
  };
  EXPECT_EQ(repeats({"--quick"}), 3);
  EXPECT_EQ(repeats({}), 5);
  EXPECT_EQ(probe({"--region", "Mars_1", "--streams", "0"}).err,
            "--region: error: no name of a region [usage.value]\n"
            "--streams: error: 0 is out of range [usage.value]\n    fix: write 1 to 256\n");
}

TEST_F(ProbeBucketWords, bounds_of_an_object_are_its_own) {
  const auto refused = [&](const std::string& size) {
    return probe({"--size", size, "--streams", "300"}).err;
  };
  const std::string streams =
      "--streams: error: 300 is out of range [usage.value]\n    fix: write 1 to 256\n";
  EXPECT_EQ(refused("65536 B"), streams);
  EXPECT_EQ(refused("65537 B"), streams) << "of any length";
  EXPECT_EQ(refused("5 GB"), streams);
  const std::string fix =
      "--size: error: \"X\" is no size for this [usage.value]\n"
      "    fix: write a multiple of 1 B from 65.5 kB to 5 GB\n";
  for (const char* size : {"65535 B", "5000000001 B"}) {
    std::string wanted = streams + fix;
    EXPECT_EQ(refused(size), wanted.replace(wanted.find("\"X\"") + 1, 1, size));
  }
}

}  // namespace
}  // namespace orrery::cli
