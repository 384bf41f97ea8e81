// The S3 client against a store that fails on demand: every injected fault is overcome by a retry
// or reported, none is silent, and what must happen once happens once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/s3/client.h"
#include "live/s3/hash.h"
#include "s3_fault_server.h"

namespace orrery::s3 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class S3Store : public testing::Test {
 protected:
  Config config() const {
    return {.endpoint = server.endpoint(),
            .bucket = "bucket",
            .credentials = S3FaultServer::credentials(),
            .retry = {.attempts_max = 4, .base_s = 0.001, .cap_s = 0.002},
            .writer = "test"};
  }
  static std::string content(std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += static_cast<char>('a' + text.size() % 23);
    return text;
  }

  S3FaultServer server;
  Client client{config()};
};

TEST_F(S3Store, what_was_put_comes_back_and_is_verified) {
  const std::string bytes = content(300'000);
  const auto etag = client.put("a/b c=ü+1", Body::of(bytes));
  ASSERT_TRUE(etag) << to_text(to_diagnostic(etag.error()));
  EXPECT_EQ(*etag, to_hex(md5(bytes)));
  const auto back = client.get("a/b c=ü+1");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->bytes, bytes);
  EXPECT_TRUE(back->verified);
  const auto head = client.head("a/b c=ü+1");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->bytes, bytes.size());
  const auto range = client.get_range("a/b c=ü+1", 1000, 500);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->bytes, bytes.substr(1000, 500));
  EXPECT_TRUE(client.remove("a/b c=ü+1"));
  EXPECT_TRUE(client.remove("a/b c=ü+1"));
  EXPECT_EQ(client.get("a/b c=ü+1").error().fault, Fault::absent);
  EXPECT_EQ(client.retries(), 0);
}

TEST_F(S3Store, empty_objects_too) {
  ASSERT_TRUE(client.put("empty", Body::of("")));
  EXPECT_EQ(client.get("empty")->bytes, "");
}

TEST_F(S3Store, lists_page_by_page_with_strange_keys) {
  for (const char* key : {"p/1", "p/2<&>", "p/3 \"'", "q/4"}) {
    ASSERT_TRUE(client.put(key, Body::of("x")));
  }
  std::vector<std::string> keys;
  std::string token;
  int pages = 0;
  do {
    const auto page = client.list("p/", token, 2);
    ASSERT_TRUE(page);
    for (const Entry& e : page->entries) keys.push_back(e.key);
    token = page->next;
  } while (!token.empty() && ++pages < 10);
  EXPECT_THAT(keys, ElementsAre("p/1", "p/2<&>", "p/3 \"'"));
}

TEST_F(S3Store, a_large_object_goes_in_parts) {
  const std::string bytes = content(1'000'000);
  const auto done = client.put_parts("large", bytes.size(), net::source_of(bytes), 300'000);
  ASSERT_TRUE(done) << to_text(to_diagnostic(done.error()));
  EXPECT_EQ(server.object("large"), bytes);
  const auto back = client.get("large");
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->verified) << "by the CRC, because the ETag is not a digest";
  EXPECT_EQ(server.open_uploads(), 0u);
}

// Each fault, with each kind of request that it can affect.
struct Case {
  StoreFault fault;
  const char* method;
};
class Mended : public S3Store, public testing::WithParamInterface<Case> {};

TEST_P(Mended, every_fault_is_overcome_by_a_retry) {
  const std::string bytes = content(100'000);
  ASSERT_TRUE(client.put("k", Body::of(bytes)));
  server.inject(GetParam().fault, 2, GetParam().method);
  if (std::string(GetParam().method) == "PUT") {
    ASSERT_TRUE(client.put("k", Body::of(bytes + "!")));
    EXPECT_EQ(server.object("k"), bytes + "!");
  } else if (std::string(GetParam().method) == "GET") {
    const auto back = client.get("k");
    ASSERT_TRUE(back);
    EXPECT_EQ(back->bytes, bytes);
  } else if (std::string(GetParam().method) == "HEAD") {
    EXPECT_TRUE(client.head("k"));
  } else {
    EXPECT_TRUE(client.remove("k"));
    EXPECT_EQ(server.object("k"), std::nullopt);
  }
  EXPECT_EQ(client.retries() + client.reconnects(), 2);
  EXPECT_EQ(server.faults_left(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, Mended,
    testing::Values(Case{StoreFault::drop_before, "PUT"}, Case{StoreFault::drop_after, "PUT"},
                    Case{StoreFault::internal_error, "PUT"}, Case{StoreFault::error_after, "PUT"},
                    Case{StoreFault::slow_down, "PUT"}, Case{StoreFault::wrong_etag, "PUT"},
                    Case{StoreFault::drop_before, "GET"}, Case{StoreFault::internal_error, "GET"},
                    Case{StoreFault::slow_down, "GET"}, Case{StoreFault::truncated, "GET"},
                    Case{StoreFault::wrong_bytes, "GET"}, Case{StoreFault::drop_before, "HEAD"},
                    Case{StoreFault::slow_down, "HEAD"}, Case{StoreFault::drop_after, "DELETE"},
                    Case{StoreFault::internal_error, "DELETE"}));

TEST_F(S3Store, faults_without_end_are_reported) {
  ASSERT_TRUE(client.put("k", Body::of(content(1000))));
  server.inject(StoreFault::slow_down, 4, "PUT");
  const auto put = client.put("k", Body::of("x"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, "SlowDown");
  EXPECT_EQ(put.error().attempts, 4);
  server.inject(StoreFault::wrong_bytes, 4, "GET");
  const auto get = client.get("k");
  ASSERT_FALSE(get);
  EXPECT_EQ(get.error().fault, Fault::corrupt);
  EXPECT_THAT(to_text(to_diagnostic(get.error())), HasSubstr("s3.corrupt"));
  server.inject(StoreFault::truncated, 4, "GET");
  EXPECT_EQ(client.get("k").error().fault, Fault::unreachable);
}

TEST_F(S3Store, a_range_that_is_cut_short_is_asked_again) {
  ASSERT_TRUE(client.put("k", Body::of(content(50'000))));
  server.inject(StoreFault::truncated, 1, "GET");
  const auto part = client.get_range("k", 100, 20'000);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->bytes, content(50'000).substr(100, 20'000));
  EXPECT_EQ(client.retries(), 1);
}

TEST_F(S3Store, a_range_wider_than_asked_for_is_cut) {
  ASSERT_TRUE(client.put("k", Body::of(content(300))));
  const auto part = client.get_range("k", 0, 1);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->bytes, content(300).substr(0, 1));
  EXPECT_EQ(client.retries(), 0);
}

TEST_F(S3Store, a_conditional_put_has_one_winner) {
  ASSERT_TRUE(client.put_new("commit", Body::of("first")));
  const auto second = client.put_new("commit", Body::of("second"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().fault, Fault::precondition);
  EXPECT_EQ(server.object("commit"), "first");
}

// The answer is lost after the store acted: a blind retry would be refused because the object
// exists.
TEST_F(S3Store, a_conditional_put_whose_answer_was_lost_knows_its_own) {
  for (const StoreFault fault : {StoreFault::drop_after, StoreFault::error_after}) {
    const std::string key = "commit-" + std::to_string(static_cast<int>(fault));
    server.inject(fault, 1, "PUT");
    const auto done = client.put_new(key, Body::of("mine"));
    EXPECT_TRUE(done) << to_text(to_diagnostic(done.error()));
  }
  EXPECT_EQ(server.conditional_writes(), 2) << "each written once";
}

TEST_F(S3Store, a_conditional_put_does_not_take_anothers_for_its_own) {
  Config other = config();
  other.writer = "other";
  ASSERT_TRUE(Client(other).put_new("commit", Body::of("same bytes")));
  server.inject(StoreFault::drop_before, 1, "PUT");
  const auto lost = client.put_new("commit", Body::of("same bytes"));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().fault, Fault::precondition);
}

TEST_F(S3Store, a_conditional_put_that_never_arrived_is_sent_again) {
  for (const StoreFault fault :
       {StoreFault::drop_before, StoreFault::internal_error, StoreFault::slow_down}) {
    const std::string key = "new-" + std::to_string(static_cast<int>(fault));
    server.inject(fault, 2, "PUT");
    EXPECT_TRUE(client.put_new(key, Body::of("mine")));
    EXPECT_EQ(server.object(key), "mine");
  }
}

TEST_F(S3Store, completing_an_upload_survives_lost_answers) {
  const std::string bytes = content(10'000);
  for (const StoreFault fault : {StoreFault::drop_after, StoreFault::error_after,
                                 StoreFault::drop_before, StoreFault::error_in_success}) {
    const std::string key = "large-" + std::to_string(static_cast<int>(fault));
    const auto upload = client.create_upload(key, {bytes.size(), crc32c(bytes)});
    ASSERT_TRUE(upload);
    const auto etag = client.upload_part(key, *upload, 1, Body::of(bytes));
    ASSERT_TRUE(etag);
    server.inject(fault, 1, "POST");
    const auto done =
        client.complete_upload(key, *upload, {{1, *etag}}, {bytes.size(), crc32c(bytes)});
    EXPECT_TRUE(done) << to_text(to_diagnostic(done.error()));
    EXPECT_EQ(server.object(key), bytes);
  }
  EXPECT_EQ(server.open_uploads(), 0u);
}

TEST_F(S3Store, an_upload_that_fails_leaves_no_parts) {
  server.inject(StoreFault::slow_down, 4, "PUT");
  const std::string bytes = content(10'000);
  EXPECT_FALSE(client.put_parts("large", bytes.size(), net::source_of(bytes), 4'000));
  EXPECT_EQ(server.open_uploads(), 0u);
  int asked = 0;
  EXPECT_FALSE(client.put_parts("large", bytes.size(), net::source_of(bytes), 4'000,
                                [&] { return ++asked > 2; }));
  EXPECT_EQ(server.open_uploads(), 0u);
  EXPECT_EQ(server.objects(), 0u);
}

TEST_F(S3Store, wrong_keys_are_refused_at_once_and_never_shown) {
  Config wrong = config();
  wrong.credentials.secret_key = "not-the-secret";
  Client thief(wrong);
  const auto put = thief.put("k", Body::of("x"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().fault, Fault::refused);
  EXPECT_EQ(put.error().attempts, 1);
  const std::string text = to_text(to_diagnostic(put.error()));
  EXPECT_THAT(text, Not(HasSubstr("not-the-secret")));
  EXPECT_THAT(text, Not(HasSubstr(wrong.credentials.access_key)));
}

TEST_F(S3Store, a_store_that_is_not_there_is_named) {
  Config nowhere = config();
  nowhere.endpoint = "http://127.0.0.1:1";
  const auto put = Client(nowhere).put("k", Body::of("x"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().fault, Fault::unreachable);
  EXPECT_THAT(to_text(to_diagnostic(put.error())), HasSubstr("--endpoint"));
}

// Many faults during a mixed load: every operation succeeds, and every object is right at the end.
TEST_F(S3Store, mixed_operations_in_a_rain_of_faults) {
  RandomStream draw(7, "rain");
  constexpr StoreFault kRain[] = {StoreFault::drop_before, StoreFault::drop_after,
                                  StoreFault::internal_error, StoreFault::error_after,
                                  StoreFault::slow_down};
  std::map<std::string, std::string> truth;
  int injected = 0;
  for (int i = 0; i < 600; ++i) {
    if (draw.uniform() < 0.2) {
      server.inject(kRain[draw.below(std::size(kRain))]);
      ++injected;
    }
    const std::string key = "k" + std::to_string(draw.below(20));
    const std::uint64_t kind = draw.below(4);
    if (kind == 0) {
      truth[key] = content(1 + draw.below(20'000));
      ASSERT_TRUE(client.put(key, Body::of(truth[key])));
    } else if (kind == 1 && truth.contains(key)) {
      const auto back = client.get(key);
      ASSERT_TRUE(back);
      ASSERT_EQ(back->bytes, truth[key]);
    } else if (kind == 2) {
      ASSERT_TRUE(client.remove(key));
      truth.erase(key);
    } else {
      const auto page = client.list("k");
      ASSERT_TRUE(page);
      ASSERT_EQ(page->entries.size(), truth.size());
    }
  }
  EXPECT_GT(injected, 60);
  // If the store closes between two requests, the client both reconnects and retries.
  EXPECT_GE(client.retries() + client.reconnects(), injected - server.faults_left());
}

// A source that is never held as a whole: byte n of the object is a function of n.
net::BodySource counted(std::uint64_t bytes) {
  return [bytes](std::uint64_t offset, std::span<char> into) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), bytes - offset));
    for (std::size_t i = 0; i < n; ++i) into[i] = static_cast<char>('a' + (offset + i) % 23);
    return std::optional(n);
  };
}

// What a writer received in each attempt.
struct Taken {
  std::string bytes;
  int restarts = 0;
  Writer writer() {
    return {.take =
                [this](std::string_view piece) {
                  bytes += piece;
                  return true;
                },
            .restart =
                [this] {
                  bytes.clear();
                  ++restarts;
                  return true;
                }};
  }
};

TEST_F(S3Store, bodies_are_streamed_both_ways) {
  const std::uint64_t bytes = 3'000'000;
  const auto body = Body::of(bytes, counted(bytes));
  ASSERT_TRUE(body);
  ASSERT_TRUE(client.put("streamed", *body));
  EXPECT_EQ(server.object("streamed"), content(bytes));
  Taken taken;
  const auto got = client.get("streamed", taken.writer());
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->verified);
  EXPECT_EQ(got->bytes, "");
  EXPECT_EQ(taken.bytes, content(bytes));
  EXPECT_EQ(got->head.bytes, bytes);
  Taken range;
  ASSERT_TRUE(client.get_range("streamed", 1'000'000, 1'500'000, range.writer()));
  EXPECT_EQ(range.bytes, content(bytes).substr(1'000'000, 1'500'000));
  ASSERT_TRUE(client.put_parts("parts", bytes, counted(bytes), 700'000));
  EXPECT_EQ(server.object("parts"), content(bytes));
  EXPECT_EQ(client.retries() + taken.restarts + range.restarts, 0);
}

TEST_F(S3Store, a_streamed_body_that_breaks_half_way_is_begun_again) {
  const std::string bytes = content(2'000'000);
  ASSERT_TRUE(client.put("k", Body::of(bytes)));
  for (const StoreFault fault :
       {StoreFault::truncated, StoreFault::reset_body, StoreFault::wrong_bytes, StoreFault::slow,
        StoreFault::internal_error, StoreFault::slow_down}) {
    server.inject(fault, 1, "GET");
    Taken taken;
    const auto got = client.get("k", taken.writer());
    ASSERT_TRUE(got) << to_text(to_diagnostic(got.error()));
    EXPECT_EQ(taken.bytes, bytes);
    const bool began = fault == StoreFault::truncated || fault == StoreFault::reset_body ||
                       fault == StoreFault::wrong_bytes;
    EXPECT_EQ(taken.restarts, began ? 1 : 0) << static_cast<int>(fault);
  }
  EXPECT_EQ(client.retries(), 5);
}

TEST_F(S3Store, a_store_that_stalls_half_way_is_left) {
  ASSERT_TRUE(client.put("k", Body::of(content(500'000))));
  Client impatient(config(), {.slow_bytes_per_s = 1000, .slow_s = 1});
  server.inject(StoreFault::stall, 1, "GET");
  Taken taken;
  ASSERT_TRUE(impatient.get("k", taken.writer()));
  EXPECT_EQ(taken.bytes, content(500'000));
  EXPECT_EQ(taken.restarts, 1);
}

TEST_F(S3Store, an_upload_that_is_reset_is_sent_again) {
  const std::uint64_t bytes = 4'000'000;
  const auto body = Body::of(bytes, counted(bytes));
  ASSERT_TRUE(body);
  server.inject(StoreFault::reset_upload, 2, "PUT");
  const auto put = client.put("k", *body);
  ASSERT_TRUE(put) << to_text(to_diagnostic(put.error()));
  EXPECT_EQ(server.object("k"), content(bytes));
  EXPECT_EQ(client.retries() + client.reconnects(), 2);
}

TEST_F(S3Store, our_own_faults_are_not_asked_again) {
  const auto gone = [](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(); };
  EXPECT_FALSE(Body::of(10, gone));
  EXPECT_FALSE(Body::of(10, counted(9)));
  const auto parts = client.put_parts("k", 10, gone, 5);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().fault, Fault::local);
  Body lost = Body::of("digested, then lost");
  lost.read = gone;
  const auto put = client.put("k", lost);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().fault, Fault::local);
  EXPECT_EQ(put.error().attempts, 1);
  ASSERT_TRUE(client.put("k", Body::of(content(1000))));
  const Writer full{.take = [](std::string_view) { return false; }, .restart = [] { return true; }};
  const auto got = client.get("k", full);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().fault, Fault::local);
  server.inject(StoreFault::truncated, 1, "GET");
  const Writer once{.take = [](std::string_view) { return true; }, .restart = [] { return false; }};
  EXPECT_EQ(client.get("k", once).error().fault, Fault::local);
  EXPECT_EQ(client.retries(), 1);
}

TEST(S3Words, places_endpoints_and_keys_are_checked) {
  EXPECT_EQ(parse_location("s3://my-bucket/a/b/")->prefix, "a/b");
  EXPECT_EQ(parse_location("s3://my-bucket")->prefix, "");
  for (const char* bad : {"s3://", "s3://A_B/x", "/tmp", "s3://ab", "s3://bucket\n/x"}) {
    EXPECT_FALSE(parse_location(bad)) << bad;
  }
  EXPECT_EQ(*checked_endpoint("http://127.0.0.1:9000/"), "http://127.0.0.1:9000");
  for (const char* bad :
       {"127.0.0.1", "ftp://x", "http://", "http://u:p@host", "http://h/path", "http://a\r\nb"}) {
    EXPECT_FALSE(checked_endpoint(bad)) << bad;
  }
  const auto none = [](const char*) -> const char* { return nullptr; };
  EXPECT_FALSE(credentials_of(none));
  EXPECT_FALSE(credentials_of([](const char*) { return "two\r\nlines"; }));
  EXPECT_TRUE(credentials_of([](const char*) { return "key"; }));
}

TEST(S3Words, waiting_grows_to_its_cap_and_follows_the_seed) {
  const RetryPolicy policy{.attempts_max = 9, .base_s = 0.1, .cap_s = 2};
  RandomStream a(3, "x");
  RandomStream b(3, "x");
  for (int n = 0; n < 12; ++n) {
    const double wait = backoff_s(policy, n, a);
    const double full = std::min(2.0, 0.1 * (1 << n));
    EXPECT_GE(wait, full / 2);
    EXPECT_LT(wait, full);
    EXPECT_EQ(wait, backoff_s(policy, n, b));
  }
}

TEST(S3Words, errors_are_read_from_their_document) {
  EXPECT_EQ(error_code("<Error><Code>SlowDown</Code></Error>"), "SlowDown");
  EXPECT_EQ(error_code("<Code>SlowDown</Code>"), "");
  EXPECT_EQ(error_code("<html>"), "");
  EXPECT_EQ(error_message("<Error><Message>a &amp; b</Message></Error>"), "a & b");
}

}  // namespace
}  // namespace orrery::s3
