// The probe of a bucket against a store on loopback that counts, delays and refuses requests: what
// is written, read and left behind, and which requests a figure measures.
#include "live/agent/probe_s3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <thread>

#include "core/base/digest.h"
#include "live/net/running_server_fixture.h"
#include "live/s3/hash.h"

namespace orrery::agent::probe_s3_tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using namespace std::chrono_literals;

// Objects by key, and the number of requests of each kind.
class CountingStore {
 public:
  std::map<std::string, int> asked;  // "PUT small", "GET large", ...
  std::map<std::string, std::string> objects;
  std::chrono::milliseconds delay{0};
  std::string delayed;  // the kind of request that takes `delay`
  std::string refuses;  // the kind that is refused with 403
  std::string lost;     // the kind that is answered with 503 once
  bool conditions = true;
  std::mutex mutex;

  net::Handler handler() {
    return [this](const net::Request& request) { return answer(request); };
  }

 private:
  static std::string kind_of(const net::Request& request) {
    const std::string_view path = net::path_of(request);
    if (path == "/pail") return request.method == "PUT" ? "PUT bucket" : "LIST";
    const auto from = path.rfind('/') + 1;
    const std::string name(path.substr(from, path.rfind('-') - from));
    const bool range = !request.header("Range").empty();
    if (request.target.find("partNumber=") != std::string::npos) return "PUT part";
    return request.method + ' ' + name + (range ? " range" : "");
  }

  net::Response answer(const net::Request& request) {
    const std::string kind = kind_of(request);
    if (kind == delayed) std::this_thread::sleep_for(delay);
    const std::scoped_lock lock(mutex);
    ++asked[kind];
    if (kind == refuses) return {.status = 403, .body = "<Error><Code>AccessDenied</Code></Error>"};
    if (kind == lost) {
      lost.clear();
      return {.status = 503, .body = "<Error><Code>SlowDown</Code></Error>"};
    }
    const std::string key(net::path_of(request));
    if (request.method == "PUT") return put(request, kind, key);
    if (request.method == "DELETE") {
      objects.erase(key);
      return {.status = 204};
    }
    if (kind == "LIST") {
      std::string list;
      for (const auto& [name, bytes] : objects) {
        list += "<Contents><Key>" + name.substr(6) + "</Key><Size>" + std::to_string(bytes.size()) +
                "</Size></Contents>";
      }
      return {.body = "<ListBucketResult>" + list + "</ListBucketResult>"};
    }
    if (request.method == "POST" && request.target.ends_with("uploads=")) {
      return {.body =
                  "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                  "</InitiateMultipartUploadResult>"};
    }
    if (request.method == "POST") {
      objects[key] = "parts";
      return {.body = "<CompleteMultipartUploadResult/>"};
    }
    return get(request, key);
  }

  net::Response put(const net::Request& request, const std::string& kind, const std::string& key) {
    const std::string etag = '"' + to_hex(s3::md5(request.body)) + '"';
    if (kind == "PUT part") return {.headers = {{"ETag", etag}}};
    if (conditions && !request.header("If-None-Match").empty() && objects.contains(key)) {
      return {.status = 412, .body = "<Error><Code>PreconditionFailed</Code></Error>"};
    }
    if (kind != "PUT bucket") objects[key] = request.body;
    return {.headers = {{"ETag", etag}}};
  }

  net::Response get(const net::Request& request, const std::string& key) const {
    const auto at = objects.find(key);
    if (at == objects.end()) return {.status = 404};
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
};

class ProbeS3 : public testing::Test {
 protected:
  ProbeS3() : server(store.handler(), options()) {
    probe.config = {.endpoint = server.url(""),
                    .bucket = "pail",
                    .credentials = {"AK", "secret", ""},
                    .retry = {.attempts_max = 2, .base_s = 0.001, .cap_s = 0.002}};
    probe.target = "s3://pail/below";
    probe.prefix = "below";
    probe.streams = 2;
    probe.small_objects = 6;
    probe.small_bytes = 100;
    probe.large_objects = 3;
    probe.large_bytes = 32'000;
    probe.part_bytes = 10'000;
    probe.repeats = 2;
  }
  static net::ServerOptions options() {
    net::ServerOptions made;
    made.handler_threads = 4;
    return made;
  }
  ProbeReport measured() {
    auto report = probe_bucket(probe);
    EXPECT_TRUE(report) << to_text(report.error());
    return report ? std::move(*report) : ProbeReport{};
  }
  CountingStore store;
  net::RunningServer server;
  BucketProbe probe;
};

TEST_F(ProbeS3, probe_measures_every_figure_and_leaves_nothing) {
  std::vector<std::pair<std::string, double>> steps;
  probe.progress = [&](std::string_view what, double done) { steps.emplace_back(what, done); };
  const ProbeReport report = measured();
  EXPECT_TRUE(store.objects.empty());
  // Two rounds of six small objects and three large ones. In one stream, a small object is read 20
  // times, and a large one twice and in 16 ranges. Two checkpoints of four parts each.
  const std::map<std::string, int> wanted = {
      {"PUT commit", 2},       {"PUT small", 2 * (6 + 1)}, {"GET small", 2 * (6 + 20)},
      {"HEAD small", 2 * 6},   {"PUT large", 2 * (3 + 1)}, {"GET large", 2 * (3 + 2)},
      {"GET large range", 32}, {"PUT part", 2 * 2 * 4},    {"LIST", 2}};
  for (const auto& [kind, count] : wanted) EXPECT_EQ(store.asked[kind], count) << kind;
  EXPECT_EQ(store.asked["PUT bucket"], 0);
  for (const char* id :
       {"creates", "small_reads", "stats", "list", "unlinks", "sequential_write", "sequential_read",
        "first_byte", "stream_read", "range_read", "checkpoint_safe", "checkpoint_rate"}) {
    const ProbeFigure* figure = report.figure(id);
    ASSERT_NE(figure, nullptr) << id;
    EXPECT_EQ(figure->samples.size(), 2u) << id;
    EXPECT_GT(figure->value(), 0) << id;
  }
  EXPECT_THAT(report.figure("creates")->label, AllOf(HasSubstr("100 B"), HasSubstr("2 streams")));
  EXPECT_THAT(report.figure("sequential_write")->label, HasSubstr("0.032 MB"));
  EXPECT_THAT(report.figure("range_read")->label, HasSubstr("2 kB"));
  EXPECT_EQ(report.figure("creates")->unit, ProbeUnit::per_s);
  EXPECT_EQ(report.figure("sequential_read")->unit, ProbeUnit::bytes_per_s);
  EXPECT_EQ(report.figure("first_byte")->unit, ProbeUnit::seconds);
  EXPECT_NEAR(
      report.figure("checkpoint_rate")->samples[0] * report.figure("checkpoint_safe")->samples[0],
      64'000, 16'000)
      << "two objects of 32 kB";
  EXPECT_EQ(report.target, "s3://pail/below");
  EXPECT_EQ(report.kind, "bucket");
  EXPECT_EQ(report.object_bytes, 32'000u);
  EXPECT_FALSE(report.interrupted);
  EXPECT_THAT(report.conditions,
              AllOf(Contains(Pair("endpoint", server.url(""))), Contains(Pair("streams", "2")),
                    Contains(Pair("conditional_put", "honoured")), Contains(Pair("retries", "0"))));
  EXPECT_TRUE(report.notices.empty());
  // Four steps per round, an eighth of the whole each, and the cleanup.
  ASSERT_EQ(steps.size(), 9u);
  EXPECT_EQ(steps[0], std::pair(std::string("small objects"), 0.0));
  EXPECT_EQ(steps[5], std::pair(std::string("large objects"), 5.0 / 8));
  EXPECT_EQ(steps[8], std::pair(std::string("deleting"), 1.0));
}

// A request that takes 8 ms bounds the rate of its own figure, in two streams, and no other.
TEST_F(ProbeS3, figure_measures_its_own_requests_only) {
  probe.repeats = 1;
  store.delay = 8ms;
  const double most = 2 / 0.008;
  const auto bounded = [&](const std::string& kind, const char* id, double unit) {
    store.delayed = kind;
    const ProbeReport report = measured();
    EXPECT_LE(report.figure(id)->value(), most * unit) << kind;
  };
  bounded("PUT small", "creates", 1);
  bounded("GET small", "small_reads", 1);
  bounded("HEAD small", "stats", 1);
  bounded("DELETE small", "unlinks", 1);
  bounded("PUT large", "sequential_write", 32'000);
  bounded("GET large", "sequential_read", 32'000);
  bounded("GET large range", "range_read", 2'000);
  bounded("GET large", "stream_read", 32'000 / 2);
  bounded("LIST", "list", 4);
  store.delayed = "GET small";
  EXPECT_GE(measured().figure("first_byte")->value(), 0.008);
  store.delayed = "PUT part";
  EXPECT_GE(measured().figure("checkpoint_safe")->value(), 4 * 0.008) << "its parts, in turn";
}

TEST_F(ProbeS3, store_that_ignores_conditions_is_reported) {
  store.conditions = false;
  probe.repeats = 1;
  probe.create_bucket = true;
  const ProbeReport report = measured();
  EXPECT_EQ(store.asked["PUT bucket"], 1);
  EXPECT_THAT(report.conditions, Contains(Pair("conditional_put", "ignored")));
  EXPECT_THAT(report.notices, Contains(HasSubstr("ignores If-None-Match")));
}

TEST_F(ProbeS3, retries_are_counted) {
  store.lost = "PUT large";
  probe.repeats = 1;
  const ProbeReport report = measured();
  EXPECT_THAT(report.conditions, Contains(Pair("retries", "1")));
  EXPECT_THAT(report.notices, testing::SizeIs(1));
}

TEST_F(ProbeS3, refusal_ends_the_probe_and_what_was_written_is_removed) {
  for (const char* kind :
       {"PUT commit", "PUT small", "GET small", "HEAD small", "LIST", "DELETE small", "PUT large",
        "GET large", "GET large range", "PUT part"}) {
    store.refuses = kind;
    const auto report = probe_bucket(probe);
    ASSERT_FALSE(report) << kind;
    EXPECT_EQ(report.error().front().code, "s3.failed") << kind;
    if (std::string_view(kind) != "DELETE small") {
      EXPECT_TRUE(store.objects.empty()) << kind;
    }
    store.objects.clear();
  }
}

TEST_F(ProbeS3, objects_that_could_not_be_deleted_are_named) {
  probe.repeats = 1;
  probe.small_objects = 0;
  store.refuses = "DELETE large";
  const ProbeReport report = measured();
  EXPECT_THAT(report.notices,
              Contains(AllOf(HasSubstr("4 objects"), HasSubstr("below/orrery-probe-"))));
  // After three failures the remaining deletions are not tried, and count as failed too.
  store.objects.clear();
  store.asked.clear();
  probe.large_objects = 6;
  const ProbeReport many = measured();
  EXPECT_THAT(many.notices, Contains(HasSubstr("objects")));
  EXPECT_EQ(store.asked["DELETE large"], 3);
}

TEST_F(ProbeS3, interrupted_probe_leaves_nothing) {
  std::atomic<bool> stops = false;
  probe.stop = [&] { return stops.load(); };
  probe.progress = [&](std::string_view what, double) { stops = stops || what == "large objects"; };
  const ProbeReport report = measured();
  EXPECT_TRUE(report.interrupted);
  EXPECT_NE(report.figure("creates"), nullptr);
  EXPECT_EQ(report.figure("sequential_write"), nullptr);
  EXPECT_TRUE(store.objects.empty());
}

}  // namespace
}  // namespace orrery::agent::probe_s3_tests
