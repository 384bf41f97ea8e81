// The client against a store that is a function: what is asked for, how often, and what is made of
// each answer. tests/s3_client_test.cpp has the same over a network that fails.
#include "live/s3/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "core/base/digest.h"
#include "live/s3/hash.h"
#include "live/s3/receiver.h"

namespace orrery::s3 {
namespace {

using testing::HasSubstr;

class ScriptedStore : public testing::Test {
 protected:
  struct Heard {
    std::string method;
    std::string url;
    HeaderList headers;
    std::string body;
    bool once = false;
  };

  Client client(RetryPolicy retry = {.attempts_max = 3, .base_s = 1, .cap_s = 5},
                std::string token = {}) {
    return Client(
        {.endpoint = "https://store.example:9000/",
         .bucket = "pail",
         .region = "eu-west-1",
         .credentials = {"AK", "secret", std::move(token)},
         .retry = retry,
         .writer = "me"},
        [this](const net::Question& q) { return answer(q); },
        [this](double seconds) { slept.push_back(seconds); },
        [] { return std::string("20130524T000000Z"); });
  }

  net::Reply answer(const net::Question& q) {
    std::string body;
    if (q.source) {
      std::string piece(64 << 10, '\0');
      while (const auto got = q.source(body.size(), piece)) {
        if (*got == 0) break;
        body.append(piece, 0, *got);
      }
    }
    heard.push_back({q.method, q.url, q.headers, body, q.once});
    net::Reply reply = replies.empty() ? plain(500) : replies.front();
    if (!replies.empty()) replies.pop_front();
    if (q.take && reply.status / 100 == 2 && !reply.body.empty()) {
      q.take(reply, reply.body);
      reply.body.clear();
    }
    return reply;
  }

  static net::Reply plain(int status, HeaderList headers = {}, std::string body = {}) {
    net::Reply reply;
    reply.status = status;
    reply.headers = std::move(headers);
    reply.body = std::move(body);
    return reply;
  }
  static net::Reply error(int status, const std::string& code) {
    return plain(status, {}, "<Error><Code>" + code + "</Code><Message>told</Message></Error>");
  }
  static net::Reply lost() {
    net::Reply reply;
    reply.fault = net::NetFault::broken;
    reply.fault_text = "cut off";
    return reply;
  }
  static net::Reply stored(std::string_view bytes) {
    return plain(200, {{"etag", '"' + to_hex(md5(bytes)) + '"'}});
  }
  // What a HEAD says of an object that this writer wrote.
  static net::Reply own_head(std::string_view bytes, const std::string& writer = "me") {
    return plain(200, {{"content-length", std::to_string(bytes.size())},
                       {std::string(kCrcHeader), crc_text(crc32c(bytes))},
                       {std::string(kWriterHeader), writer}});
  }

  std::deque<net::Reply> replies;
  std::vector<Heard> heard;
  std::vector<double> slept;
};

TEST_F(ScriptedStore, a_put_says_who_what_and_its_digests) {
  Client c = client({}, "token");
  replies = {stored("hello")};
  EXPECT_EQ(c.put("a b/ü", Body::of("hello")).value(), to_hex(md5("hello")));
  ASSERT_EQ(heard.size(), 1u);
  const Heard& q = heard.front();
  EXPECT_EQ(q.url, "https://store.example:9000/pail/a%20b/%C3%BC");
  EXPECT_EQ(q.body, "hello");
  EXPECT_FALSE(q.once);
  EXPECT_EQ(net::header_of(q.headers, "Host"), "store.example:9000");
  EXPECT_EQ(net::header_of(q.headers, "Content-MD5"), to_base64(md5("hello")));
  EXPECT_EQ(net::header_of(q.headers, "x-amz-content-sha256"), sha256_hex("hello"));
  EXPECT_EQ(net::header_of(q.headers, "x-amz-security-token"), "token");
  EXPECT_EQ(net::header_of(q.headers, kCrcHeader), crc_text(crc32c("hello")));
  EXPECT_EQ(net::header_of(q.headers, kWriterHeader), "me");
  // A server that computes the signature of what came finds this one.
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

TEST_F(ScriptedStore, what_was_stored_wrongly_is_put_again_and_then_said) {
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
  // An ETag that is no MD5 says nothing.
  replies = {plain(200, {{"etag", "\"abc-2\""}})};
  EXPECT_TRUE(c.put("k", Body::of("hello")));
}

// Waits are our own, or the server's where that is longer, and never beyond the cap.
TEST_F(ScriptedStore, waits_follow_the_server_up_to_the_cap) {
  Client c = client({.attempts_max = 4, .base_s = 0.5, .cap_s = 5});
  net::Reply three = error(503, "SlowDown");
  three.headers = {{"retry-after", "3"}};
  net::Reply ages = error(503, "SlowDown");
  ages.headers = {{"retry-after", "100"}};
  replies = {three, ages, error(503, "SlowDown"), plain(204)};
  EXPECT_TRUE(c.remove("k"));
  ASSERT_EQ(slept.size(), 3u);
  EXPECT_EQ(slept[0], 3);
  EXPECT_EQ(slept[1], 5);
  EXPECT_GE(slept[2], 1);  // 0.5 x 2^2, at least half of it
  EXPECT_LT(slept[2], 2);
  EXPECT_EQ(c.retries(), 3);
}

TEST_F(ScriptedStore, faults_have_names_and_end_after_so_many_attempts) {
  Client c = client();
  const auto fault_after = [&](const net::Reply& reply) {
    heard.clear();
    replies = {reply, reply, reply, reply};
    return c.head("k").error();
  };
  EXPECT_EQ(fault_after(error(403, "AccessDenied")).fault, Fault::refused);
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_EQ(fault_after(plain(404)).fault, Fault::absent);
  EXPECT_EQ(heard.size(), 1u);
  EXPECT_EQ(fault_after(plain(412)).fault, Fault::precondition);
  const Error server = fault_after(error(500, "InternalError"));
  EXPECT_EQ(server.fault, Fault::server);
  EXPECT_EQ(server.status, 500);
  EXPECT_EQ(server.code, "InternalError");
  EXPECT_EQ(server.detail, "told");
  EXPECT_EQ(server.operation, "HEAD pail/k");
  EXPECT_EQ(server.attempts, 3);
  EXPECT_EQ(heard.size(), 3u);
  const Error gone = fault_after(lost());
  EXPECT_EQ(gone.fault, Fault::unreachable);
  EXPECT_EQ(gone.detail, "cut off");
  EXPECT_EQ(to_diagnostic(gone).code, "s3.failed");
  EXPECT_THAT(to_diagnostic(gone).what, HasSubstr("gave no answer after 3 attempts"));
  EXPECT_THAT(to_diagnostic(fault_after(plain(404))).what,
              HasSubstr("answered 404 after 1 attempt"));
  EXPECT_THAT(to_diagnostic(fault_after(plain(404))).what, testing::Not(HasSubstr("attempts")));
}

TEST_F(ScriptedStore, a_fault_says_what_to_do) {
  const auto fix = [](Error e) { return to_diagnostic(e).fix; };
  EXPECT_THAT(fix({.status = 403, .code = "RequestTimeTooSkewed"}), HasSubstr("clock"));
  EXPECT_THAT(fix({.status = 404, .code = "NoSuchBucket"}), HasSubstr("--create-bucket"));
  EXPECT_THAT(fix({.status = 403, .code = "AccessDenied"}), HasSubstr("keys"));
  EXPECT_THAT(fix({.status = 301}), HasSubstr("--region"));
  EXPECT_THAT(fix({.fault = Fault::unreachable}), HasSubstr("--endpoint"));
  EXPECT_THAT(fix({.fault = Fault::corrupt, .status = 200}), HasSubstr("do not trust"));
  EXPECT_EQ(fix({.fault = Fault::refused, .detail = "interrupted"}), "");
}

// A conditional PUT is sent once at a time; whether an unanswered one came about is looked up.
TEST_F(ScriptedStore, a_conditional_put_looks_before_it_asks_again) {
  Client c = client();
  replies = {lost(), own_head("hello")};
  EXPECT_EQ(c.put_new("k", Body::of("hello")).value(), to_hex(md5("hello")));
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_TRUE(heard[0].once);
  EXPECT_EQ(net::header_of(heard[0].headers, "If-None-Match"), "*");
  EXPECT_EQ(heard[1].method, "HEAD");
  // Not there: sent again, and then "already there" is our own earlier attempt.
  heard.clear();
  replies = {lost(), plain(404), plain(412), own_head("hello")};
  EXPECT_TRUE(c.put_new("k", Body::of("hello")));
  EXPECT_EQ(heard.size(), 4u);
  // At the first attempt it is another's, whatever it holds: not looked at.
  heard.clear();
  replies = {plain(412), own_head("hello")};
  EXPECT_EQ(c.put_new("k", Body::of("hello")).error().fault, Fault::precondition);
  EXPECT_EQ(heard.size(), 1u);
  // Another writer's, another length, other bytes: never ours.
  for (const net::Reply& theirs :
       {own_head("hello", "you"), own_head("hello!"), own_head("hullo")}) {
    replies = {lost(), plain(404), plain(412), theirs};
    EXPECT_EQ(c.put_new("k", Body::of("hello")).error().fault, Fault::precondition);
  }
  // Where it cannot be looked up nothing is claimed.
  replies = {lost(), error(403, "AccessDenied")};
  EXPECT_EQ(c.put_new("k", Body::of("hello")).error().fault, Fault::refused);
  // A store that surely did not act is asked again at once.
  heard.clear();
  replies = {error(503, "SlowDown"), stored("hello")};
  EXPECT_TRUE(c.put_new("k", Body::of("hello")));
  EXPECT_EQ(heard.size(), 2u);
}

TEST_F(ScriptedStore, a_completion_is_sent_once_at_a_time_and_its_parts_are_quoted) {
  Client c = client();
  const net::Reply done = plain(
      200, {}, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>");
  const std::vector<Part> parts = {{1, "aa"}, {2, "bb"}};
  const Whole whole{.bytes = 5, .crc32c = crc32c("hello")};
  replies = {done};
  EXPECT_TRUE(c.complete_upload("k", "u", parts, whole));
  EXPECT_EQ(heard[0].url, "https://store.example:9000/pail/k?uploadId=u");
  EXPECT_THAT(
      heard[0].body,
      HasSubstr("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"aa\"</ETag>"
                "</Part><Part><PartNumber>2</PartNumber><ETag>\"bb\"</ETag></Part>"));
  EXPECT_TRUE(heard[0].once);
  // A failure in a 200 answer is a failure, and is looked into.
  replies = {error(200, "InternalError"), own_head("hello")};
  EXPECT_TRUE(c.complete_upload("k", "u", parts, whole));
  // Gone after an answer that was lost: the first attempt may have made it, or not.
  replies = {lost(), plain(404), error(404, "NoSuchUpload"), own_head("hello")};
  EXPECT_TRUE(c.complete_upload("k", "u", parts, whole));
  replies = {lost(), plain(404), error(404, "NoSuchUpload"), own_head("other")};
  EXPECT_EQ(c.complete_upload("k", "u", parts, whole).error().fault, Fault::absent);
  // Gone at once: nothing of ours.
  heard.clear();
  replies = {error(404, "NoSuchUpload"), own_head("hello")};
  EXPECT_EQ(c.complete_upload("k", "u", parts, whole).error().fault, Fault::absent);
  EXPECT_EQ(heard.size(), 1u);
}

// Bytes that are not those of their sum are asked for again from the first; a writer that takes no
// more is no fault of the store, and not asked twice.
TEST_F(ScriptedStore, what_came_wrong_is_asked_for_again_and_a_full_disk_is_not) {
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
  EXPECT_EQ(range->bytes, "cde") << "counted from the first byte of the second attempt";
  heard.clear();
  replies = {plain(200, own, "right"), plain(200, own, "right")};
  const Writer full{.take = [](std::string_view) { return false; }, .restart = [] { return true; }};
  EXPECT_EQ(c.get("k", full).error().fault, Fault::local);
  EXPECT_EQ(heard.size(), 1u);
}

TEST_F(ScriptedStore, parts_are_numbered_from_one_cover_the_bytes_and_are_aborted) {
  Client c = client({.attempts_max = 1, .base_s = 0, .cap_s = 0});
  const net::Reply begun = plain(
      200, {},
      "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
  const net::Reply done = plain(200, {}, "<CompleteMultipartUploadResult/>");
  const std::string bytes = "abcdefgh";
  const auto put = [&](std::size_t part, const std::function<bool()>& stop = {}) {
    heard.clear();
    return c.put_parts("k", bytes.size(), net::source_of(bytes), part, stop);
  };
  replies = {begun, stored("abc"), stored("def"), stored("gh"), done};
  EXPECT_TRUE(put(3));
  ASSERT_EQ(heard.size(), 5u);
  EXPECT_EQ(net::header_of(heard[0].headers, kCrcHeader), crc_text(crc32c(bytes)));
  EXPECT_EQ(heard[0].url, "https://store.example:9000/pail/k?uploads=");
  EXPECT_EQ(heard[1].url, "https://store.example:9000/pail/k?partNumber=1&uploadId=u");
  EXPECT_EQ(heard[3].url, "https://store.example:9000/pail/k?partNumber=3&uploadId=u");
  EXPECT_EQ(heard[1].body + heard[2].body + heard[3].body, bytes);
  EXPECT_EQ(heard[3].body, "gh");
  // The sum is of all the bytes, however few of them a read gives.
  heard.clear();
  replies = {begun, stored("abc"), stored("def"), stored("gh"), done};
  const net::BodySource slow = [&](std::uint64_t at, std::span<char> into) {
    return net::source_of(bytes)(at, into.subspan(0, std::min<std::size_t>(into.size(), 2)));
  };
  EXPECT_TRUE(c.put_parts("k", bytes.size(), slow, 3));
  EXPECT_EQ(net::header_of(heard.at(0).headers, kCrcHeader), crc_text(crc32c(bytes)));
  // An empty object has one part, for an upload of none cannot be completed.
  heard.clear();
  replies = {begun, stored(""), done};
  EXPECT_TRUE(c.put_parts("k", 0, net::source_of(""), 3));
  EXPECT_EQ(heard.size(), 3u);
  // A part that fails, a completion that is refused, a person who stops it: nothing is left behind.
  replies = {begun, stored("abc"), error(403, "AccessDenied"), plain(204)};
  EXPECT_EQ(put(3).error().code, "AccessDenied");
  EXPECT_EQ(heard.back().method, "DELETE");
  replies = {begun, stored(bytes), error(400, "InvalidPart"), plain(204)};
  EXPECT_EQ(put(100).error().code, "InvalidPart");
  EXPECT_EQ(heard.back().method, "DELETE");
  replies = {begun, plain(204)};
  EXPECT_EQ(put(3, [] { return true; }).error().detail, "interrupted");
  EXPECT_EQ(heard.back().method, "DELETE");
  EXPECT_EQ(heard.size(), 2u);
  // ... and where the parts cannot be removed, that is said.
  replies = {begun, error(403, "AccessDenied"), error(403, "AccessDenied")};
  EXPECT_THAT(put(3).error().detail, HasSubstr("could not be removed"));
  // S3 takes 10,000 parts: smaller ones than that allows are made larger.
  const std::string many(25'000, 'm');
  heard.clear();
  replies.clear();
  replies.push_back(begun);
  for (int i = 0; i < 8334; ++i) replies.push_back(plain(200, {{"etag", "\"of-2\""}}));
  replies.push_back(done);
  EXPECT_TRUE(c.put_parts("k", many.size(), net::source_of(many), 1));
  EXPECT_EQ(heard.size(), 8334u + 2u);
}

TEST_F(ScriptedStore, a_listing_has_its_objects_and_goes_on_where_it_was_cut) {
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
  EXPECT_EQ(heard[0].url, "https://store.example:9000/pail?list-type=2&max-keys=1000&prefix=p%20q");
  const auto second = c.list("p q", first->next, 5);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->next, "");
  EXPECT_THAT(heard[1].url, HasSubstr("continuation-token=t%261&"));
  EXPECT_THAT(heard[1].url, HasSubstr("max-keys=5"));
  // Another document is no listing, whatever its status.
  replies = {plain(200, {}, "<html/>"), plain(200, {}, "<html/>"), plain(200, {}, "<html/>")};
  EXPECT_EQ(c.list("").error().fault, Fault::corrupt);
}

TEST_F(ScriptedStore, what_is_gone_is_removed_and_a_bucket_of_ours_is_made) {
  Client c = client();
  replies = {plain(404)};
  EXPECT_TRUE(c.remove("k"));
  replies = {error(404, "NoSuchBucket")};
  EXPECT_FALSE(c.remove("k"));
  replies = {plain(404)};
  EXPECT_TRUE(c.abort_upload("k", "u"));
  for (const char* code : {"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}) {
    replies = {error(409, code)};
    EXPECT_TRUE(c.create_bucket()) << code;
  }
  replies = {error(403, "AccessDenied")};
  EXPECT_FALSE(c.create_bucket());
  EXPECT_EQ(heard.back().url, "https://store.example:9000/pail");
}

TEST_F(ScriptedStore, a_range_asks_for_its_last_byte) {
  Client c = client();
  replies = {plain(206, {{"content-range", "bytes 5-8/20"}}, "abcd")};
  const auto got = c.get_range("k", 5, 4);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, "abcd");
  EXPECT_EQ(net::header_of(heard[0].headers, "Range"), "bytes=5-8");
  net::Reply again = plain(206, {{"content-range", "bytes 5-8/20"}}, "abcd");
  again.reconnected = true;
  replies = {again};
  EXPECT_TRUE(c.get_range("k", 5, 4));
  EXPECT_EQ(c.reconnects(), 1);
}

// A source that ends early or gives up is our own fault: nothing is sent again.
TEST(Pieces, a_source_is_read_to_its_end_or_not_at_all) {
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

TEST(Places, endpoints_places_and_keys_are_checked) {
  const auto location = parse_location("s3://my-bucket/a/b//");
  ASSERT_TRUE(location);
  EXPECT_EQ(location->bucket, "my-bucket");
  EXPECT_EQ(location->prefix, "a/b");
  EXPECT_TRUE(parse_location("s3://abc"));
  EXPECT_TRUE(parse_location("s3://" + std::string(63, 'a')));
  EXPECT_TRUE(parse_location("s3://abc/" + std::string(900, 'p')));
  for (const std::string& bad :
       {std::string("s3://"), std::string("s3://ab"), "s3://" + std::string(64, 'a'),
        std::string("s3://A_B/x"), std::string("https://abc/x"), std::string("xx5://abc/x"),
        std::string("bucketabc/x"), "s3://abc/" + std::string(901, 'p'),
        std::string("s3://abc/\xff")}) {
    ASSERT_FALSE(parse_location(bad)) << bad;
    EXPECT_EQ(parse_location(bad).error().front().code, "s3.place");
  }
  EXPECT_EQ(checked_endpoint("https://host:1//").value(), "https://host:1");
  EXPECT_EQ(checked_endpoint("http://[::1]:9000").value(), "http://[::1]:9000");
  for (const char* bad :
       {"host", "ftp://x", "http://", "http://u:p@h", "http://h/p", "http://a b"}) {
    ASSERT_FALSE(checked_endpoint(bad)) << bad;
    EXPECT_EQ(checked_endpoint(bad).error().front().code, "s3.endpoint");
  }
  const auto keys = [](const char* access, const char* secret, const char* token) {
    return credentials_of([=](const char* name) {
      const std::string_view asked = name;
      if (asked == "AWS_ACCESS_KEY_ID") return access;
      return asked == "AWS_SECRET_ACCESS_KEY" ? secret : token;
    });
  };
  EXPECT_EQ(keys("a", "s", nullptr)->session_token, "");
  EXPECT_EQ(keys("a", "s", "t")->session_token, "t");
  EXPECT_EQ(keys("a", "s", "t")->secret_key, "s");
  // Half of a pair, or a line break or blank in any of the three: each becomes a header line.
  for (const auto& [a, s, t] :
       std::vector<std::tuple<const char*, const char*, const char*>>{{"a", "", ""},
                                                                      {"", "s", ""},
                                                                      {"a\n", "s", ""},
                                                                      {"a", "s s", ""},
                                                                      {"a", "s", "t\r\nX: y"},
                                                                      {"a", "s", "t\x7f"}}) {
    ASSERT_FALSE(keys(a, s, t));
    EXPECT_EQ(keys(a, s, t).error().front().code, "s3.credentials");
  }
}

}  // namespace
}  // namespace orrery::s3
