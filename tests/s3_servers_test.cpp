// The S3 client against a real server: 10,000 mixed operations, none fails, and every byte is as
// written.
//
// Runs if ORRERY_S3_ENDPOINT names a server that the test may write to (tools/check_s3 starts two);
// keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Otherwise it is skipped with a
// notice.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/base/digest.h"
#include "live/s3/client.h"

namespace orrery {
namespace {

constexpr int kThreads = 4;
constexpr int kOperations = 10'000;
constexpr int kKeys = 40;  // per thread

// The work of one thread, and what its objects must contain.
struct Worker {
  s3::Client client;
  RandomStream draw;
  std::string prefix;
  std::map<std::string, std::string> truth = {};
  std::map<std::string, int> counts = {};
  std::vector<std::string> failures = {};

  void check(bool good, const std::string& what) {
    ++counts[what];
    if (!good) failures.push_back(what);
  }
  template <class T>
  void check(const s3::Outcome<T>& result, const std::string& what) {
    ++counts[what];
    if (!result) failures.push_back(to_text(to_diagnostic(result.error())));
  }

  std::string bytes(std::uint64_t count) {
    std::string text(count, '\0');
    for (char& c : text) c = static_cast<char>(draw.next());
    return text;
  }

  void write(const std::string& key) {
    const std::string content = bytes(draw.below(draw.below(8) == 0 ? 300'000 : 8'000));
    const auto put = client.put(key, s3::Body::of(content));
    check(put, "put");
    truth[key] = content;
  }

  void write_parts(const std::string& key) {
    const std::string content = bytes(5'300'000 + draw.below(1000));  // S3's minimum part size is 5
                                                                      // MiB
    check(client.put_parts(key, content.size(), net::source_of(content), 5 << 20), "multipart");
    truth[key] = content;
  }

  void read(const std::string& key) {
    const auto got = client.get(key);
    check(got, "get");
    if (got) check(got->bytes == truth.at(key) && got->verified, "get agrees");
  }

  void read_part(const std::string& key) {
    const std::string& whole = truth.at(key);
    if (whole.size() < 2) return;
    const std::uint64_t from = draw.below(whole.size() - 1);
    const std::uint64_t count = 1 + draw.below(whole.size() - from);
    const auto got = client.get_range(key, from, count);
    check(got, "range");
    if (got) check(got->bytes == whole.substr(from, count), "range agrees");
  }

  void list() {
    std::size_t found = 0;
    std::string token;
    do {
      const auto page = client.list(prefix, token, 60);
      check(page, "list");
      if (!page) return;
      for (const s3::Entry& e : page->entries) {
        const auto at = truth.find(e.key);
        check(at != truth.end() && at->second.size() == e.bytes, "listed");
      }
      found += page->entries.size();
      token = page->next;
    } while (!token.empty() && found <= truth.size());
    check(found == truth.size(), "list is whole");
  }

  void step() {
    // Blanks, equals signs and non-ASCII letters, which signing code often gets wrong.
    const std::string key = fmt::format("{}a={} ü+~/{}", prefix, draw.below(4), draw.below(kKeys));
    const bool there = truth.contains(key);
    const std::uint64_t kind = draw.below(100);
    if (kind < 35 || (kind < 80 && !there)) {
      write(key);
    } else if (kind < 60) {
      read(key);
    } else if (kind < 72) {
      read_part(key);
    } else if (kind < 80) {
      const auto head = client.head(key);
      check(head, "head");
      if (head) check(head->bytes == truth.at(key).size(), "head agrees");
    } else if (kind < 97) {
      check(client.remove(key), "delete");
      truth.erase(key);
    } else if (kind < 99) {
      list();
    } else {
      write_parts(key);
    }
  }
};

s3::Config config_of_environment() {
  s3::Config config{.endpoint = std::getenv("ORRERY_S3_ENDPOINT"), .bucket = "orrery-check"};
  config.credentials = s3::credentials_of([](const char* name) {
                         return std::getenv(name);
                       }).value_or(s3::Credentials{});
  return config;
}

class S3Servers : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::getenv("ORRERY_S3_ENDPOINT")) {
      GTEST_SKIP() << "ORRERY_S3_ENDPOINT is not set (tools/check_s3 starts servers)";
    }
    const auto made = s3::Client(config_of_environment()).create_bucket();
    ASSERT_TRUE(made) << to_text(to_diagnostic(made.error()));
  }
};

TEST_F(S3Servers, ten_thousand_mixed_operations) {
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) {
    s3::Config config = config_of_environment();
    config.writer = fmt::format("check-{}", i);
    workers.push_back(
        {s3::Client(config), RandomStream(11, config.writer), fmt::format("mixed/{}/", i)});
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (Worker& w : workers) {
    threads.emplace_back([&w] {
      for (int i = 0; i < kOperations / kThreads; ++i) w.step();
      for (const auto& [key, bytes] : w.truth) w.read(key);
      for (const auto& [key, bytes] : w.truth) w.check(w.client.remove(key), "cleanup");
    });
  }
  for (std::thread& t : threads) t.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::map<std::string, int> counts;
  int retries = 0;
  for (const Worker& w : workers) {
    for (const auto& [what, n] : w.counts) counts[what] += n;
    retries += w.client.retries();
    EXPECT_THAT(w.failures, testing::IsEmpty());
  }
  std::string line;
  for (const auto& [what, n] : counts) line += fmt::format(" {} {},", what, n);
  fmt::print("{} in {:.1f} s:{} {} retries\n", std::getenv("ORRERY_S3_ENDPOINT"), took.count(),
             line, retries);
}

TEST_F(S3Servers, a_conditional_put_is_honoured_or_seen_to_be_ignored) {
  s3::Client client(config_of_environment());
  ASSERT_TRUE(client.remove("commit"));
  ASSERT_TRUE(client.put_new("commit", s3::Body::of("first")));
  const auto second = client.put_new("commit", s3::Body::of("second"));
  const auto now = client.get("commit");
  ASSERT_TRUE(now);
  EXPECT_EQ(now->bytes, second ? "second" : "first");
  if (!second) {
    EXPECT_EQ(second.error().fault, s3::Fault::precondition);
  }
  fmt::print("If-None-Match is {}\n", second ? "ignored" : "honoured");
  EXPECT_TRUE(client.remove("commit"));
}

TEST_F(S3Servers, an_abandoned_upload_leaves_nothing) {
  s3::Client client(config_of_environment());
  int asked = 0;
  const std::string large(11 << 20, 'x');
  EXPECT_FALSE(client.put_parts("abandoned", large.size(), net::source_of(large), 5 << 20,
                                [&] { return ++asked > 1; }));
  EXPECT_EQ(client.head("abandoned").error().fault, s3::Fault::absent);
}

TEST_F(S3Servers, wrong_keys_are_refused) {
  s3::Config wrong = config_of_environment();
  wrong.credentials.secret_key += "x";
  const auto put = s3::Client(wrong).put("k", s3::Body::of("x"));
  if (put) {
    ASSERT_TRUE(s3::Client(wrong).remove("k"));
    GTEST_SKIP() << "this server does not check signatures (s3rver does not)";
  }
  EXPECT_EQ(put.error().status, 403);
  EXPECT_EQ(put.error().attempts, 1);
}

}  // namespace
}  // namespace orrery
