// The client against a store that is a function: what it requests, how often, and how it interprets
// each answer. tests/s3_client_test.cpp does the same over a network that fails.
#include "live/s3/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "live/s3/scripted_store_fixture.h"

namespace orrery::s3::client_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using S3Client = ScriptedStore;

TEST_F(S3Client, put_is_signed_and_carries_its_digests) {
  Client c = client(RetryPolicy{}, "token");
  replies = {stored("hello")};
  EXPECT_EQ(c.put("a b/ü", Body::of("hello")).value(), to_hex(md5("hello")));
  ASSERT_EQ(sent.size(), 1u);
  const Sent& q = sent.front();
  EXPECT_EQ(q.url, "https://store.example:9000/pail/a%20b/%C3%BC");
  EXPECT_EQ(q.body, "hello");
  EXPECT_FALSE(q.once);
  EXPECT_EQ(net::header_of(q.headers, "Host"), "store.example:9000");
  EXPECT_EQ(net::header_of(q.headers, "Content-MD5"), to_base64(md5("hello")));
  EXPECT_EQ(net::header_of(q.headers, "x-amz-content-sha256"), sha256_hex("hello"));
  EXPECT_EQ(net::header_of(q.headers, "x-amz-security-token"), "token");
  EXPECT_EQ(net::header_of(q.headers, kCrcHeader), crc_text(crc32c("hello")));
  EXPECT_EQ(net::header_of(q.headers, kWriterHeader), "me");
  // The server computes the same signature from what it received.
  SignatureInput input{.method = "PUT",
                       .path = "/pail/a%20b/%C3%BC",
                       .query = {},
                       .headers = q.headers,
                       .payload = sha256_hex("hello"),
                       .time = "20130524T000000Z",
                       .region = "eu-west-1"};
  std::erase_if(input.headers, [](const auto& h) { return h.first == "Authorization"; });
  EXPECT_EQ(net::header_of(q.headers, "Authorization"),
            authorization(input, {"AK", "secret", "token"}));
}

TEST_F(S3Client, put_stored_wrongly_is_repeated_and_then_corrupt) {
  Client c = client();
  replies = {stored("other"), stored("hello")};
  EXPECT_TRUE(c.put("k", Body::of("hello")));
  EXPECT_EQ(c.retries(), 1);
  replies = {stored("other"), stored("other"), stored("other")};
  const auto failed = c.put("k", Body::of("hello"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().fault, Fault::corrupt);
  EXPECT_EQ(failed.error().attempts, 3);
  EXPECT_EQ(to_diagnostic(failed.error()).code, "s3.corrupt");
  // An ETag that is not an MD5 is not compared.
  replies = {plain(200, {{"etag", "\"abc-2\""}})};
  EXPECT_TRUE(c.put("k", Body::of("hello")));
}

// Half to all of 1, 2, 4, ... seconds, or the time that the store asks for; 8 seconds at most.
TEST_F(S3Client, waits_double_and_follow_retry_after_up_to_the_cap) {
  replies = {plain(500), plain(503, {{"retry-after", "3"}}), plain(500),
             plain(503, {{"retry-after", "100"}}), plain(204)};
  Client c = client(5);
  EXPECT_TRUE(c.remove("k"));
  EXPECT_EQ(c.retries(), 4);
  EXPECT_EQ(c.reconnects(), 0);
  ASSERT_EQ(slept.size(), 4u);
  EXPECT_GE(slept[0], 0.5);
  EXPECT_LT(slept[0], 1);
  EXPECT_DOUBLE_EQ(slept[1], 3);
  EXPECT_GE(slept[2], 2);
  EXPECT_LT(slept[2], 4);
  EXPECT_DOUBLE_EQ(slept[3], 8);
  EXPECT_FALSE(sent[0].once) << "it may be sent twice";
  net::Reply again = plain(204);
  again.reconnected = true;
  replies = {again};
  EXPECT_TRUE(c.remove("k"));
  EXPECT_EQ(c.reconnects(), 1);
}

TEST_F(S3Client, faults_end_after_the_allowed_attempts) {
  Client c = client();
  const auto fault_after = [&](const net::Reply& reply) {
    sent.clear();
    replies = {reply, reply, reply, reply};
    return c.head("k").error();
  };
  EXPECT_EQ(fault_after(error(403, "AccessDenied")).fault, Fault::refused);
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(fault_after(plain(404)).fault, Fault::absent);
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(fault_after(plain(412)).fault, Fault::precondition);
  const Error server = fault_after(error(500, "InternalError"));
  EXPECT_EQ(server.fault, Fault::server);
  EXPECT_EQ(server.status, 500);
  EXPECT_EQ(server.code, "InternalError");
  EXPECT_EQ(server.detail, "words");
  EXPECT_EQ(server.operation, "HEAD pail/k");
  EXPECT_EQ(server.attempts, 3);
  EXPECT_EQ(sent.size(), 3u);
  const Error gone = fault_after(lost());
  EXPECT_EQ(gone.fault, Fault::unreachable);
  EXPECT_EQ(gone.detail, "cut off");
  EXPECT_EQ(to_diagnostic(gone).code, "s3.failed");
}

// Returns "good", or the fault with its status, code, operation and attempts.
template <class T>
std::string summary(const Outcome<T>& outcome) {
  if (outcome) return "good";
  const Error& e = outcome.error();
  constexpr const char* kFaults[] = {"refused", "absent",  "precondition", "unreachable",
                                     "server",  "corrupt", "local"};
  return std::string(kFaults[static_cast<std::size_t>(e.fault)]) + ' ' + std::to_string(e.status) +
         ' ' + e.code + " of " + e.operation + " after " + std::to_string(e.attempts);
}

class S3Refusals : public ScriptedStore {
 protected:
  // All calls that do not check the store after an answer was lost, with their operations.
  std::vector<std::pair<std::string, std::string>> all_with(const net::Reply& reply) {
    Client c = client();
    const Body body = Body::of("bytes");
    const auto outcome_of = [&](auto call) {
      replies = {reply, reply, reply};
      return summary(call());
    };
    return {{"PUT pail/k", outcome_of([&] { return c.put("k", body); })},
            {"GET pail/k", outcome_of([&] { return c.get("k"); })},
            {"GET pail/k", outcome_of([&] { return c.get_range("k", 1, 2); })},
            {"HEAD pail/k", outcome_of([&] { return c.head("k"); })},
            {"DELETE pail/k", outcome_of([&] { return c.remove("k"); })},
            {"GET pail/", outcome_of([&] { return c.list("p"); })},
            {"GET pail/k", outcome_of([&] { return c.document("k", {{"tagging", ""}}); })},
            {"PUT pail/", outcome_of([&] { return c.create_bucket(); })},
            {"POST pail/k", outcome_of([&] { return c.create_upload("k", {}); })},
            {"PUT pail/k", outcome_of([&] { return c.upload_part("k", "u", 1, body); })},
            {"DELETE pail/k", outcome_of([&] { return c.abort_upload("k", "u"); })},
            {"POST pail/k", outcome_of([&] { return c.put_parts("k", 5, body.read, 2); })}};
  }
};

TEST_F(S3Refusals, refusal_is_reported_after_one_attempt) {
  for (const auto& [operation, outcome_of] : all_with(error(403, "AccessDenied"))) {
    EXPECT_EQ(outcome_of, "refused 403 AccessDenied of " + operation + " after 1");
  }
  replies = {error(403, "AccessDenied"), error(403, "AccessDenied")};
  EXPECT_EQ(summary(client().put_new("k", Body::of("x"))),
            "refused 403 AccessDenied of PUT pail/k after 1");
  EXPECT_EQ(summary(client().complete_upload("k", "u", {}, {})),
            "refused 403 AccessDenied of POST pail/k after 1");
}

TEST_F(S3Refusals, server_fault_and_lost_connection_are_retried_and_then_reported) {
  for (const auto& [operation, outcome_of] : all_with(error(500, "InternalError"))) {
    EXPECT_EQ(outcome_of, "server 500 InternalError of " + operation + " after 3");
  }
  for (const auto& [operation, outcome_of] : all_with(lost())) {
    EXPECT_EQ(outcome_of, "unreachable 0  of " + operation + " after 3");
  }
}

TEST_F(S3Client, absent_keys_count_as_removed_and_an_existing_bucket_as_made) {
  Client c = client();
  const auto outcome_of = [&](const net::Reply& reply, auto call) {
    replies = {reply};
    return summary(call());
  };
  const auto remove = [&] { return c.remove("k"); };
  const auto create = [&] { return c.create_bucket(); };
  const net::Reply no_key = error(404, "NoSuchKey");
  EXPECT_EQ(outcome_of(no_key, [&] { return c.get("k"); }),
            "absent 404 NoSuchKey of GET pail/k after 1");
  EXPECT_EQ(outcome_of(no_key, [&] { return c.document("k", {}); }),
            "absent 404 NoSuchKey of GET pail/k after 1");
  EXPECT_EQ(outcome_of(no_key, remove), "good");
  EXPECT_EQ(outcome_of(no_key, [&] { return c.abort_upload("k", "u"); }), "good");
  EXPECT_EQ(outcome_of(error(404, "NoSuchBucket"), remove),
            "absent 404 NoSuchBucket of DELETE pail/k after 1");
  EXPECT_EQ(outcome_of(plain(200), create), "good");
  for (const char* code : {"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}) {
    EXPECT_EQ(outcome_of(error(409, code), create), "good") << code;
  }
  EXPECT_EQ(outcome_of(error(409, "OperationAborted"), create),
            "refused 409 OperationAborted of PUT pail/ after 1");
  EXPECT_EQ(sent.back().url, "https://store.example:9000/pail");
}

TEST_F(S3Client, good_status_with_the_wrong_document_is_corrupt) {
  Client c = client();
  for (const net::Reply& wrong : {plain(200, {}, "<html/>"), error(200, "SlowDown")}) {
    replies = {wrong, wrong, wrong};
    EXPECT_EQ(c.list("p").error().fault, Fault::corrupt);
    replies = {wrong, wrong, wrong};
    EXPECT_EQ(c.create_upload("k", {}).error().fault, Fault::corrupt);
  }
  replies = {plain(200, {}, "text of the document")};
  EXPECT_EQ(c.document("k", {}).value_or(""), "text of the document");
}

// The store's code and message are shown; the fix depends on the fault.
TEST(S3Error, diagnostic_has_code_place_and_a_fix) {
  const auto fix = [](Error e) { return to_diagnostic(e).fix; };
  EXPECT_THAT(fix({.status = 403, .code = "RequestTimeTooSkewed"}), HasSubstr("clock"));
  EXPECT_THAT(fix({.status = 404, .code = "NoSuchBucket"}), HasSubstr("--create-bucket"));
  EXPECT_THAT(fix({.status = 403, .code = "AccessDenied"}), HasSubstr("keys"));
  EXPECT_THAT(fix({.status = 301}), HasSubstr("--region"));
  EXPECT_THAT(fix({.status = 307}), HasSubstr("--region"));
  EXPECT_THAT(fix({.fault = Fault::unreachable}), HasSubstr("--endpoint"));
  EXPECT_EQ(fix({.fault = Fault::refused, .detail = "interrupted"}), "");
  EXPECT_EQ(fix({.fault = Fault::local}), "");
  const Diagnostic shown = to_diagnostic({.fault = Fault::server,
                                          .operation = "PUT b/k",
                                          .status = 500,
                                          .code = "C",
                                          .detail = "d",
                                          .attempts = 4});
  EXPECT_EQ(shown.code, "s3.failed");
  EXPECT_EQ(shown.place.file, "PUT b/k");
  EXPECT_THAT(shown.what, testing::AllOf(HasSubstr("500"), HasSubstr("4 attempts")));
  EXPECT_EQ(shown.why, "C: d");
  const Diagnostic once = to_diagnostic({.fault = Fault::unreachable, .detail = "d"});
  EXPECT_THAT(once.what, testing::EndsWith("1 attempt"));
  EXPECT_EQ(once.why, "d");
  EXPECT_EQ(to_diagnostic({.fault = Fault::corrupt, .status = 200}).code, "s3.corrupt");
}

TEST_F(S3Client, conditional_put_looks_before_it_is_sent_again) {
  Client c = client();
  replies = {lost(), own_head("hello")};
  EXPECT_EQ(c.put_new("k", Body::of("hello")).value(), to_hex(md5("hello")));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_TRUE(sent[0].once);
  EXPECT_EQ(net::header_of(sent[0].headers, "If-None-Match"), "*");
  EXPECT_EQ(sent[1].method, "HEAD");
  // The object does not exist, so the request is sent again. If it now exists, our earlier attempt
  // wrote it.
  sent.clear();
  replies = {lost(), plain(404), plain(412), own_head("hello")};
  EXPECT_TRUE(c.put_new("k", Body::of("hello")));
  EXPECT_EQ(sent.size(), 4u);
  // If it exists at the first attempt, it belongs to another writer, whatever it contains.
  sent.clear();
  replies = {plain(412), own_head("hello")};
  EXPECT_EQ(c.put_new("k", Body::of("hello")).error().fault, Fault::precondition);
  EXPECT_EQ(sent.size(), 1u);
  // Another writer, another length or other bytes: not ours.
  for (const net::Reply& theirs :
       {own_head("hello", "you"), own_head("hello!"), own_head("hullo")}) {
    replies = {lost(), plain(404), plain(412), theirs};
    EXPECT_EQ(c.put_new("k", Body::of("hello")).error().fault, Fault::precondition);
  }
  // If it cannot be looked up, the put fails.
  replies = {lost(), error(403, "AccessDenied")};
  EXPECT_EQ(c.put_new("k", Body::of("hello")).error().fault, Fault::refused);
  // If the store did not act, the request is repeated without checking.
  sent.clear();
  replies = {error(503, "SlowDown"), stored("hello")};
  EXPECT_TRUE(c.put_new("k", Body::of("hello")));
  EXPECT_EQ(sent.size(), 2u);
}

TEST_F(S3Client, conditional_put_reports_all_its_attempts) {
  replies = {lost(), plain(404), lost(), plain(404), lost(), plain(404)};
  const auto put = client().put_new("k", Body::of("bytes"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().attempts, 3);
  EXPECT_EQ(put.error().fault, Fault::unreachable);
  EXPECT_EQ(put.error().operation, "PUT pail/k");
  EXPECT_THAT(methods(), ElementsAre("PUT", "HEAD", "PUT", "HEAD", "PUT", "HEAD"));
  ASSERT_EQ(slept.size(), 2u);
  EXPECT_LT(slept[0], 1);
  EXPECT_GE(slept[1], 1) << "half to all of two seconds";
}

// If the writer accepts no more bytes, the store is not at fault.
TEST_F(S3Client, corrupt_bytes_are_read_again_and_a_full_writer_is_not) {
  Client c = client();
  const HeaderList own = {{std::string(kCrcHeader), crc_text(crc32c("right"))}};
  replies = {plain(200, own, "wrong"), plain(200, own, "right")};
  const auto again = c.get("k", 5);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->bytes, "right");
  EXPECT_TRUE(again->verified);
  replies = {plain(200, own, "wrong"), plain(200, own, "wrong"), plain(200, own, "wrong")};
  EXPECT_EQ(c.get("k", 5).error().fault, Fault::corrupt);
  const HeaderList part = {{"content-range", "bytes 2-4/9"}};
  replies = {plain(206, part, "cd"), plain(206, part, "cde")};
  const auto range = c.get_range("k", 2, 3);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->bytes, "cde");
  sent.clear();
  replies = {plain(200, own, "right"), plain(200, own, "right")};
  const Writer full{.take = [](std::string_view) { return false; }, .restart = [] { return true; }};
  EXPECT_EQ(c.get("k", full).error().fault, Fault::local);
  EXPECT_EQ(sent.size(), 1u);
}

// The first attempt fails by its MD5, the second passes by its CRC-32C.
TEST_F(S3Client, each_attempt_has_a_digest_of_its_own) {
  pieces = {"abc"};
  replies = {plain(200, {{"etag", to_hex(md5("other"))}}),
             plain(200, {{std::string(kCrcHeader), crc_text(orrery::crc32c("abc"))}})};
  const auto got = client().get("k");
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->bytes, "abc");
  EXPECT_TRUE(got->verified);
}

TEST_F(S3Client, writer_gets_nothing_beyond_its_range) {
  pieces = {"defg", "hij"};
  replies = {plain(206, {{"content-range", "bytes 3-9/10"}})};
  std::vector<std::string> given;
  const Writer writer{.take =
                          [&](std::string_view piece) {
                            given.emplace_back(piece);
                            return !piece.empty();
                          },
                      .restart = [] { return false; }};
  EXPECT_TRUE(client(1).get_range("k", 3, 4, writer));
  EXPECT_THAT(given, ElementsAre("defg"));
}

TEST_F(S3Client, range_is_checked_against_what_the_answer_says) {
  const auto range = [&](const std::string& said, std::vector<std::string> came, int status = 206) {
    sent.clear();
    pieces = std::move(came);
    replies = {plain(status, {{"content-range", said}})};
    const auto got = client(1).get_range("k", 3, 4);
    if (got) EXPECT_FALSE(got->verified) << "a digest covers the whole object";
    return got ? got->bytes : "corrupt";
  };
  EXPECT_EQ(range("bytes 3-6/9", {"defg"}), "defg");
  EXPECT_EQ(net::header_of(sent[0].headers, "Range"), "bytes=3-6");
  EXPECT_EQ(range("bytes 3-6/9", {"de", "fg"}), "defg");
  EXPECT_EQ(range("bytes 3-8/9", {"def", "ghi"}), "defg") << "the answer announced more bytes";
  EXPECT_EQ(range("bytes 3-4/5", {"de"}), "corrupt");
  EXPECT_EQ(range("bytes 3-6/9", {"defgh"}), "corrupt");
  EXPECT_EQ(range("bytes 0-3/9", {"abcd"}), "corrupt");
  EXPECT_EQ(range("bytes 3-6/9", {"defg"}, 200), "corrupt");
  EXPECT_EQ(range(std::string(70, 'x'), {"defg"}), "corrupt");
  EXPECT_EQ(range("bytes 3-2/9", {}), "corrupt");
}

TEST_F(S3Client, object_is_verified_by_its_crc_or_its_md5) {
  const auto got = [&](net::HeaderList headers) {
    pieces = {"ab", "c"};
    headers.emplace_back("content-length", "3");
    replies = {plain(200, std::move(headers))};
    const auto object = client(1).get("k");
    if (!object) return std::string("corrupt");
    EXPECT_EQ(object->head.bytes, 3u);
    return object->bytes + (object->verified ? " verified" : " unverified");
  };
  const std::string crc = crc_text(orrery::crc32c("abc"));
  EXPECT_EQ(got({}), "abc unverified");
  EXPECT_EQ(got({{std::string(kCrcHeader), crc}}), "abc verified");
  EXPECT_EQ(got({{std::string(kCrcHeader), "00000000"}}), "corrupt");
  EXPECT_EQ(got({{"etag", to_hex(md5("abc"))}}), "abc verified");
  EXPECT_EQ(got({{"etag", to_hex(md5("abd"))}}), "corrupt");
  EXPECT_EQ(got({{"etag", to_hex(md5("abd"))}, {std::string(kCrcHeader), crc}}), "abc verified")
      << "the CRC takes precedence";
  EXPECT_EQ(got({{"etag", "\"of-parts-2\""}}), "abc unverified");
}

TEST_F(S3Client, writer_restarts_before_the_next_attempt_and_may_give_up) {
  std::string into;
  int restarts = 0;
  bool may = true;
  bool takes = true;
  const Writer writer{.take =
                          [&](std::string_view piece) {
                            into += piece;
                            return takes;
                          },
                      .restart =
                          [&] {
                            ++restarts;
                            into.clear();
                            return may;
                          }};
  const std::string wrong = to_hex(md5("other"));
  const std::string right = to_hex(md5("abc"));
  pieces = {"abc"};
  replies = {plain(200, {{"etag", wrong}}), plain(200, {{"etag", right}})};
  EXPECT_TRUE(client().get("k", writer)->verified);
  EXPECT_EQ(into, "abc");
  EXPECT_EQ(restarts, 1);
  may = false;
  replies = {plain(200, {{"etag", wrong}}), plain(200, {{"etag", right}})};
  const auto refused = client().get("k", writer);
  EXPECT_EQ(refused.error().fault, Fault::local);
  EXPECT_EQ(refused.error().attempts, 2);
  EXPECT_EQ(refused.error().operation, "GET pail/k");
  takes = false;
  replies = {plain(200, {{"etag", right}})};
  const auto full = client().get("k", writer);
  EXPECT_EQ(full.error().fault, Fault::local);
  EXPECT_EQ(full.error().attempts, 1);
  EXPECT_FALSE(taken);
}

TEST_F(S3Client, listing_continues_at_its_token) {
  Client c = client();
  replies = {plain(200, {},
                   "<ListBucketResult><IsTruncated>true</IsTruncated>"
                   "<NextContinuationToken>t&amp;1</NextContinuationToken>"
                   "<Contents><Key>a</Key><Size>7</Size><ETag>\"e\"</ETag></Contents>"
                   "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes></ListBucketResult>"),
             plain(200, {},
                   "<ListBucketResult><IsTruncated>false</IsTruncated>"
                   "<NextContinuationToken>stale</NextContinuationToken></ListBucketResult>")};
  const auto first = c.list("p q");
  ASSERT_TRUE(first);
  ASSERT_EQ(first->entries.size(), 1u);
  EXPECT_EQ(first->entries[0].key, "a");
  EXPECT_EQ(first->entries[0].bytes, 7u);
  EXPECT_EQ(first->entries[0].etag, "e");
  EXPECT_EQ(first->next, "t&1");
  EXPECT_EQ(sent[0].url, "https://store.example:9000/pail?list-type=2&max-keys=1000&prefix=p%20q");
  const auto second = c.list("p q", first->next, 5);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->next, "");
  EXPECT_THAT(sent[1].url, HasSubstr("continuation-token=t%261&"));
  EXPECT_THAT(sent[1].url, HasSubstr("max-keys=5"));
}

TEST(Pieces, source_is_read_to_its_end_or_not_at_all) {
  std::string seen;
  const auto visit = [&seen](std::string_view piece) { seen += piece; };
  const net::BodySource slow = [](std::uint64_t offset, std::span<char> into) {
    const std::string_view all = "abcdefghij";
    const auto at = static_cast<std::size_t>(offset);
    return std::optional(all.copy(into.data(), std::min<std::size_t>(3, into.size()), at));
  };
  EXPECT_TRUE(each_piece(10, slow, visit));
  EXPECT_EQ(seen, "abcdefghij");
  EXPECT_FALSE(each_piece(11, slow, visit));
  const auto streamed = Body::of(10, slow);
  ASSERT_TRUE(streamed);
  const Body held = Body::of("abcdefghij");
  EXPECT_EQ(streamed->sha256_hex, held.sha256_hex);
  EXPECT_EQ(streamed->md5_raw, held.md5_raw);
  EXPECT_EQ(streamed->crc32c, held.crc32c);
  EXPECT_FALSE(Body::of(11, slow));
  EXPECT_FALSE(
      Body::of(1, [](std::uint64_t, std::span<char>) { return std::optional<std::size_t>(); }));
}

// More than 6 GiB that cannot be read: the size is checked before anything is copied.
TEST(Writer, held_bytes_end_at_the_largest_object) {
  const std::size_t bytes = (std::size_t{6} << 30) + 1;
  void* const place =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  std::string into = "before";
  const Writer writer = writer_into(into);
  EXPECT_FALSE(writer.take({static_cast<const char*>(place), bytes}));
  EXPECT_FALSE(writer.take({static_cast<const char*>(place), bytes - 6}))
      << "together with the bytes that it already holds";
  EXPECT_EQ(into, "before");
  EXPECT_TRUE(writer.take("+"));
  EXPECT_EQ(into, "before+");
  EXPECT_TRUE(writer.restart());
  EXPECT_EQ(into, "");
  ::munmap(place, bytes);
}

}  // namespace
}  // namespace orrery::s3::client_tests
