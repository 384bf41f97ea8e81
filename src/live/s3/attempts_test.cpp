// What the client sends, waits for and believes, attempt by attempt: whose object it finds after an
// answer was lost, how long it rests, and which bytes of a range it hands on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "core/base/digest.h"
#include "live/s3/client.h"
#include "live/s3/hash.h"
#include "live/s3/receiver.h"

namespace orrery::s3::attempts_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

net::Reply reply_of(int status, net::HeaderList headers = {}, std::string body = "") {
  net::Reply reply;
  reply.status = status;
  reply.headers = std::move(headers);
  reply.body = std::move(body);
  return reply;
}
net::Reply lost_reply() {
  net::Reply reply;
  reply.fault = net::NetFault::broken;
  reply.fault_text = "cut off";
  return reply;
}

// Answers come in the order in which they were laid out.
class AttemptsTest : public testing::Test {
 protected:
  Client client(int attempts = 4) {
    return Client(
        {.endpoint = "http://store",
         .bucket = "pail",
         .credentials = {"AK", "s", ""},
         .retry = {.attempts_max = attempts, .base_s = 1, .cap_s = 8},
         .writer = "me"},
        [this](const net::Question& question) {
          asked.push_back(question.method);
          questions.push_back(question);
          if (answers.empty()) return reply_of(400);
          net::Reply next = answers.front();
          answers.pop_front();
          if (question.take && !pieces.empty()) {
            for (const std::string& piece : pieces) taken = taken && question.take(next, piece);
          }
          return next;
        },
        [this](double s) { slept.push_back(s); }, [] { return std::string("20130524T000000Z"); });
  }
  static net::Reply found(std::uint64_t bytes, std::uint32_t crc, const std::string& writer) {
    return reply_of(200, {{"content-length", std::to_string(bytes)},
                          {std::string(kCrcHeader), crc_text(crc)},
                          {std::string(kWriterHeader), writer}});
  }
  std::string header_of(std::size_t at, std::string_view name) const {
    return std::string(net::header_of(questions.at(at).headers, name));
  }

  std::deque<net::Reply> answers;
  std::vector<std::string> pieces;
  bool taken = true;
  std::vector<std::string> asked;
  std::vector<net::Question> questions;
  std::vector<double> slept;
};

TEST_F(AttemptsTest, a_put_whose_answer_was_lost_is_ours_by_length_sum_and_writer) {
  const Body body = Body::of("bytes");
  const auto came_to = [&](const net::Reply& there) {
    asked.clear();
    answers = {lost_reply(), there, reply_of(412), there};
    const auto put = client().put_new("k", body);
    return put ? *put : "not ours";
  };
  EXPECT_EQ(came_to(found(5, body.crc32c, "me")), to_hex(md5("bytes")));
  EXPECT_THAT(asked, ElementsAre("PUT", "HEAD"));
  EXPECT_EQ(came_to(found(6, body.crc32c, "me")), "not ours");
  EXPECT_THAT(asked, ElementsAre("PUT", "HEAD", "PUT", "HEAD"));
  EXPECT_EQ(came_to(found(5, body.crc32c + 1, "me")), "not ours");
  EXPECT_EQ(came_to(found(5, body.crc32c, "you")), "not ours");
  EXPECT_EQ(came_to(reply_of(403)), "not ours");
  EXPECT_THAT(asked, ElementsAre("PUT", "HEAD")) << "who cannot look does not go on";
}

TEST_F(AttemptsTest, what_is_there_at_the_first_attempt_is_anothers) {
  answers = {reply_of(412)};
  const auto put = client().put_new("k", Body::of("bytes"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().fault, Fault::precondition);
  EXPECT_EQ(put.error().attempts, 1);
  EXPECT_THAT(asked, ElementsAre("PUT"));
  EXPECT_EQ(header_of(0, "If-None-Match"), "*");
  EXPECT_TRUE(questions[0].once);
  EXPECT_EQ(questions[0].source_bytes, 5u);
}

TEST_F(AttemptsTest, a_completion_whose_answer_was_lost_is_looked_for) {
  const Whole whole{.bytes = 7, .crc32c = 9};
  const auto complete = [&](std::deque<net::Reply> said) {
    asked.clear();
    answers = std::move(said);
    slept.clear();
    const auto done = client(3).complete_upload("k", "u", {{1, "e"}}, whole);
    EXPECT_TRUE(!done || *done);
    return done ? "done"
                : std::to_string(done.error().status) + " after " +
                      std::to_string(done.error().attempts);
  };
  const net::Reply good = reply_of(200, {}, "<CompleteMultipartUploadResult/>");
  EXPECT_EQ(complete({good}), "done");
  EXPECT_EQ(complete({lost_reply(), found(7, 9, "me")}), "done");
  EXPECT_THAT(asked, ElementsAre("POST", "HEAD"));
  EXPECT_EQ(complete({lost_reply(), reply_of(404), good}), "done");
  EXPECT_THAT(asked, ElementsAre("POST", "HEAD", "POST"));
  EXPECT_EQ(complete({reply_of(404)}), "404 after 1") << "there was none to complete";
  EXPECT_THAT(asked, ElementsAre("POST"));
  EXPECT_EQ(complete({lost_reply(), reply_of(404), reply_of(404), found(7, 9, "me")}), "done");
  EXPECT_EQ(complete({lost_reply(), reply_of(404), reply_of(404), found(8, 9, "me")}),
            "404 after 2");
  EXPECT_EQ(complete({lost_reply(), reply_of(404), lost_reply(), reply_of(404), lost_reply(),
                      reply_of(404), good}),
            "0 after 3");
  ASSERT_EQ(slept.size(), 2u);
  EXPECT_LT(slept[0], 1) << "half to all of one second, then of two";
  EXPECT_GE(slept[0], 0.5);
  EXPECT_LT(slept[1], 2);
  EXPECT_GE(slept[1], 1);
}

TEST_F(AttemptsTest, a_put_that_is_sent_again_waits_longer_each_time) {
  answers = {lost_reply(), reply_of(404), lost_reply(), reply_of(404), reply_of(200)};
  EXPECT_TRUE(client().put_new("k", Body::of("x")));
  ASSERT_EQ(slept.size(), 2u);
  EXPECT_LT(slept[0], 1);
  EXPECT_GE(slept[0], 0.5);
  EXPECT_LT(slept[1], 2);
  EXPECT_GE(slept[1], 1);
}

TEST_F(AttemptsTest, what_went_well_says_yes) {
  answers = {reply_of(204), reply_of(404), reply_of(200),
             reply_of(409), reply_of(204), reply_of(404)};
  answers[3].body = "<Error><Code>BucketAlreadyExists</Code></Error>";
  Client c = client(1);
  EXPECT_TRUE(c.remove("k").value());
  EXPECT_TRUE(c.remove("k").value());
  EXPECT_TRUE(c.create_bucket().value());
  EXPECT_TRUE(c.create_bucket().value());
  EXPECT_TRUE(c.abort_upload("k", "u").value());
  EXPECT_TRUE(c.abort_upload("k", "u").value());
}

// The first attempt is told by its MD5 to be wrong, the second by its sum to be right.
TEST_F(AttemptsTest, each_attempt_has_its_own_digest) {
  pieces = {"abc"};
  answers = {reply_of(200, {{"etag", to_hex(md5("other"))}}),
             reply_of(200, {{std::string(kCrcHeader), crc_text(orrery::crc32c("abc"))}})};
  const auto got = client().get("k");
  ASSERT_TRUE(got) << got.error().detail;
  EXPECT_EQ(got->bytes, "abc");
  EXPECT_TRUE(got->verified);
}

TEST_F(AttemptsTest, a_writer_is_not_given_what_lies_behind_its_range) {
  pieces = {"defg", "hij"};
  answers = {reply_of(206, {{"content-range", "bytes 3-9/10"}})};
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

// Half to all of 1, 2, 4, ... seconds, and as long as the store wishes, up to 8.
TEST_F(AttemptsTest, a_client_rests_between_attempts) {
  answers = {reply_of(500), reply_of(503, {{"retry-after", "3"}}), reply_of(500),
             reply_of(503, {{"retry-after", "100"}}), reply_of(204)};
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
  EXPECT_FALSE(questions[0].once) << "it may be sent twice";
  net::Reply again = reply_of(204);
  again.reconnected = true;
  answers = {again};
  EXPECT_TRUE(c.remove("k"));
  EXPECT_EQ(c.reconnects(), 1);
}

TEST_F(AttemptsTest, a_part_that_is_stored_otherwise_is_sent_again) {
  const std::string right = to_hex(md5("part"));
  answers = {reply_of(200, {{"etag", '"' + to_hex(md5("other")) + '"'}}),
             reply_of(200, {{"etag", '"' + right + '"'}})};
  EXPECT_EQ(client().upload_part("k", "u", 3, Body::of("part")).value(), right);
  EXPECT_THAT(asked, ElementsAre("PUT", "PUT"));
  EXPECT_EQ(questions[0].url, "http://store/pail/k?partNumber=3&uploadId=u");
  EXPECT_EQ(header_of(0, "Content-MD5"), to_base64(md5("part")));
  answers = {reply_of(200, {{"etag", "\"no-md5\""}})};
  EXPECT_EQ(client().put("k", Body::of("part")).value(), "no-md5");
}

TEST_F(AttemptsTest, a_range_is_handed_on_up_to_what_was_asked_for) {
  const auto range = [&](const std::string& said, std::vector<std::string> came, int status = 206) {
    asked.clear();
    pieces = std::move(came);
    answers = {reply_of(status, {{"content-range", said}})};
    const auto got = client(1).get_range("k", 3, 4);
    return got ? got->bytes : got.error().detail;
  };
  EXPECT_EQ(range("bytes 3-6/9", {"defg"}), "defg");
  EXPECT_EQ(header_of(0, "Range"), "bytes=3-6");
  EXPECT_EQ(range("bytes 3-6/9", {"de", "fg"}), "defg");
  EXPECT_EQ(range("bytes 3-8/9", {"def", "ghi"}), "defg") << "more came, and it was said";
  EXPECT_EQ(range("bytes 3-4/5", {"de"}), "the range has 2 of 4 bytes");
  EXPECT_EQ(range("bytes 3-6/9", {"defgh"}),
            "the answer is not the range asked for: 5 bytes, bytes 3-6/9");
  EXPECT_EQ(range("bytes 0-3/9", {"abcd"}),
            "the answer is not the range asked for: 4 bytes, bytes 0-3/9");
  EXPECT_EQ(range("bytes 3-6/9", {"defg"}, 200),
            "the answer is not the range asked for: 4 bytes, bytes 3-6/9");
  EXPECT_EQ(range(std::string(70, 'x'), {"defg"}),
            "the answer is not the range asked for: 4 bytes, " + std::string(60, 'x'));
  EXPECT_EQ(range("bytes 3-2/9", {}),
            "the answer is not the range asked for: 0 bytes, bytes 3-2/9");
  EXPECT_TRUE(taken);
}

TEST_F(AttemptsTest, an_object_is_held_against_the_sum_or_the_md5_that_comes_with_it) {
  const auto got = [&](net::HeaderList headers) {
    pieces = {"ab", "c"};
    headers.emplace_back("content-length", "3");
    answers = {reply_of(200, std::move(headers))};
    const auto object = client(1).get("k");
    if (!object) return object.error().detail;
    EXPECT_EQ(object->head.bytes, 3u);
    return object->bytes + (object->verified ? " verified" : " as it came");
  };
  const std::string crc = crc_text(orrery::crc32c("abc"));
  EXPECT_EQ(got({}), "abc as it came");
  EXPECT_EQ(got({{std::string(kCrcHeader), crc}}), "abc verified");
  EXPECT_EQ(got({{std::string(kCrcHeader), "00000000"}}),
            "the body's CRC-32C is not the one stored");
  EXPECT_EQ(got({{"etag", to_hex(md5("abc"))}}), "abc verified");
  EXPECT_EQ(got({{"etag", to_hex(md5("abd"))}}), "the body's MD5 is not the object's ETag");
  EXPECT_EQ(got({{"etag", to_hex(md5("abd"))}, {std::string(kCrcHeader), crc}}), "abc verified")
      << "the sum is of the bytes, whatever the ETag is";
  EXPECT_EQ(got({{"etag", "\"of-parts-2\""}}), "abc as it came");
}

// A writer that was given something begins again before the next attempt, and may say no.
TEST_F(AttemptsTest, a_writer_begins_again_and_may_give_up) {
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
  answers = {reply_of(200, {{"etag", wrong}}), reply_of(200, {{"etag", right}})};
  EXPECT_TRUE(client().get("k", writer)->verified);
  EXPECT_EQ(into, "abc");
  EXPECT_EQ(restarts, 1);
  may = false;
  answers = {reply_of(200, {{"etag", wrong}}), reply_of(200, {{"etag", right}})};
  const auto refused = client().get("k", writer);
  EXPECT_EQ(refused.error().fault, Fault::local);
  EXPECT_EQ(refused.error().attempts, 2);
  EXPECT_EQ(refused.error().operation, "GET pail/k");
  takes = false;
  answers = {reply_of(200, {{"etag", right}})};
  const auto full = client().get("k", writer);
  EXPECT_EQ(full.error().fault, Fault::local);
  EXPECT_EQ(full.error().attempts, 1);
  EXPECT_FALSE(taken);
}

// At most 10,000 parts: of 10,001 bytes in parts of one, each has two.
TEST_F(AttemptsTest, an_upload_has_up_to_ten_thousand_parts) {
  const Body body = Body::of(std::string(30'001, 'b'));
  const auto first_part = [&](std::uint64_t bytes, std::size_t part) {
    questions.clear();
    answers = {reply_of(200, {},
                        "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                        "</InitiateMultipartUploadResult>"),
               reply_of(200, {{"etag", "\"e-1\""}}), reply_of(204)};
    int looks = 0;
    EXPECT_FALSE(client(1).put_parts("k", bytes, body.read, part, [&] { return looks++ == 1; }));
    return questions.at(1).source_bytes;
  };
  EXPECT_EQ(first_part(9'999, 1), 1u);
  EXPECT_EQ(first_part(10'000, 1), 1u);
  EXPECT_EQ(first_part(10'001, 1), 2u);
  EXPECT_EQ(first_part(20'000, 1), 2u);
  EXPECT_EQ(first_part(20'001, 1), 3u);
  EXPECT_EQ(first_part(30'001, 7), 7u) << "what was asked for is more";
}

TEST_F(AttemptsTest, an_upload_that_ends_early_is_aborted) {
  const net::Reply begun = reply_of(200, {},
                                    "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                                    "</InitiateMultipartUploadResult>");
  const Body body = Body::of("abcdef");
  const auto put = [&](std::deque<net::Reply> said, int stop_after = 99) {
    asked.clear();
    answers = std::move(said);
    int looks = 0;
    const auto done =
        client(1).put_parts("k", 6, body.read, 3, [&] { return looks++ >= stop_after; });
    return done ? "done" : done.error().detail;
  };
  const net::Reply part = reply_of(200, {{"etag", "\"e-1\""}});
  EXPECT_EQ(put({begun, part, reply_of(204)}, 1), "interrupted");
  EXPECT_THAT(asked, ElementsAre("POST", "PUT", "DELETE"));
  EXPECT_EQ(put({begun, part, reply_of(403), reply_of(204)}), "");
  EXPECT_THAT(asked, ElementsAre("POST", "PUT", "PUT", "DELETE"));
  EXPECT_EQ(put({begun, part, lost_reply(), lost_reply()}),
            "cut off; and its parts could not be removed: cut off");
  EXPECT_EQ(put({begun, part, part, reply_of(403), reply_of(204)}), "");
  EXPECT_THAT(asked, ElementsAre("POST", "PUT", "PUT", "POST", "DELETE"));
  EXPECT_EQ(put({begun, part, part, reply_of(200, {}, "<CompleteMultipartUploadResult/>")}),
            "done");
  EXPECT_EQ(put({reply_of(403)}), "");
  EXPECT_THAT(asked, ElementsAre("POST"));
}

TEST_F(AttemptsTest, a_list_has_what_the_store_says_and_where_to_go_on) {
  const auto list = [&](const std::string& more) {
    answers = {reply_of(200, {},
                        "<ListBucketResult><Contents><Key>a</Key><Size>5</Size><ETag>\"e\"</ETag>"
                        "</Contents><Other/><Contents><Key>b</Key><Size>x</Size></Contents>" +
                            more + "</ListBucketResult>")};
    return client().list("p/", "", 7).value();
  };
  const Page last = list("<NextContinuationToken>t</NextContinuationToken>");
  ASSERT_EQ(last.entries.size(), 2u);
  EXPECT_EQ(last.entries[0].key, "a");
  EXPECT_EQ(last.entries[0].bytes, 5u);
  EXPECT_EQ(last.entries[0].etag, "e");
  EXPECT_EQ(last.entries[1].bytes, 0u);
  EXPECT_EQ(last.next, "");
  EXPECT_EQ(questions[0].url, "http://store/pail?list-type=2&max-keys=7&prefix=p%2F");
  EXPECT_EQ(
      list("<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>").next,
      "t");
  answers = {reply_of(200, {}, "<ListBucketResult/>")};
  EXPECT_THAT(client().list("p/", "t").value().entries, IsEmpty());
  EXPECT_EQ(questions[2].url,
            "http://store/pail?continuation-token=t&list-type=2&max-keys=1000&prefix=p%2F");
}

}  // namespace
}  // namespace orrery::s3::attempts_tests
