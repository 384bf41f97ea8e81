// Multipart uploads, and the names that a user gives: endpoints, buckets, prefixes and keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "live/s3/scripted_store_fixture.h"

namespace orrery::s3::upload_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using S3Upload = ScriptedStore;

TEST_F(S3Upload, completion_is_sent_once_and_looked_up_after_a_lost_answer) {
  Client c = client();
  const net::Reply done = upload_done();
  const std::vector<Part> parts = {{1, "aa"}, {2, "bb"}};
  const Whole whole{.bytes = 5, .crc32c = crc32c("hello")};
  replies = {done};
  EXPECT_TRUE(c.complete_upload("k", "u", parts, whole));
  EXPECT_EQ(sent[0].url, "https://store.example:9000/pail/k?uploadId=u");
  EXPECT_THAT(
      sent[0].body,
      HasSubstr("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"aa\"</ETag>"
                "</Part><Part><PartNumber>2</PartNumber><ETag>\"bb\"</ETag></Part>"));
  EXPECT_TRUE(sent[0].once);
  // An error document in a 200 answer is a failure.
  replies = {error(200, "InternalError"), own_head("hello")};
  EXPECT_TRUE(c.complete_upload("k", "u", parts, whole));
  // If the upload is gone after a lost answer, the first attempt may have completed it.
  replies = {lost(), plain(404), error(404, "NoSuchUpload"), own_head("hello")};
  EXPECT_TRUE(c.complete_upload("k", "u", parts, whole));
  replies = {lost(), plain(404), error(404, "NoSuchUpload"), own_head("other")};
  EXPECT_EQ(c.complete_upload("k", "u", parts, whole).error().fault, Fault::absent);
  // If it is gone at the first attempt, it never existed.
  sent.clear();
  replies = {error(404, "NoSuchUpload"), own_head("hello")};
  EXPECT_EQ(c.complete_upload("k", "u", parts, whole).error().fault, Fault::absent);
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(S3Upload, completion_is_repeated_until_it_is_found_or_given_up) {
  const Whole whole{.bytes = 5, .crc32c = crc32c("hello")};
  const auto complete = [&](std::deque<net::Reply> said) {
    sent.clear();
    replies = std::move(said);
    const auto done = client().complete_upload("k", "u", {{1, "e"}}, whole);
    return done ? "done"
                : std::to_string(done.error().status) + " after " +
                      std::to_string(done.error().attempts);
  };
  EXPECT_EQ(complete({lost(), plain(404), upload_done()}), "done");
  EXPECT_THAT(methods(), ElementsAre("POST", "HEAD", "POST"));
  EXPECT_EQ(complete({lost(), plain(404), plain(404), own_head("other")}), "404 after 2");
  slept.clear();
  EXPECT_EQ(complete({lost(), plain(404), lost(), plain(404), lost(), plain(404), upload_done()}),
            "0 after 3");
  ASSERT_EQ(slept.size(), 2u);
  EXPECT_LT(slept[0], 1) << "half to all of one second, then of two";
  EXPECT_GE(slept[0], 0.5);
  EXPECT_LT(slept[1], 2);
  EXPECT_GE(slept[1], 1);
}

TEST_F(S3Upload, part_stored_wrongly_is_sent_again) {
  replies = {stored("other"), stored("part")};
  EXPECT_EQ(client().upload_part("k", "u", 3, Body::of("part")).value(), to_hex(md5("part")));
  EXPECT_THAT(methods(), ElementsAre("PUT", "PUT"));
  EXPECT_EQ(sent[0].url, "https://store.example:9000/pail/k?partNumber=3&uploadId=u");
  EXPECT_EQ(net::header_of(sent[0].headers, "Content-MD5"), to_base64(md5("part")));
}

TEST_F(S3Upload, parts_cover_all_bytes_and_are_aborted_after_a_failure) {
  Client c = client(1);
  const net::Reply begun = upload_begun(), done = upload_done();
  const std::string bytes = "abcdefgh";
  const auto put = [&](std::size_t part, const std::function<bool()>& stop = {}) {
    sent.clear();
    return c.put_parts("k", bytes.size(), net::source_of(bytes), part, stop);
  };
  replies = {begun, stored("abc"), stored("def"), stored("gh"), done};
  EXPECT_TRUE(put(3));
  ASSERT_EQ(sent.size(), 5u);
  EXPECT_EQ(net::header_of(sent[0].headers, kCrcHeader), crc_text(crc32c(bytes)));
  EXPECT_EQ(sent[0].url, "https://store.example:9000/pail/k?uploads=");
  EXPECT_EQ(sent[1].url, "https://store.example:9000/pail/k?partNumber=1&uploadId=u");
  EXPECT_EQ(sent[3].url, "https://store.example:9000/pail/k?partNumber=3&uploadId=u");
  EXPECT_EQ(sent[1].body + sent[2].body + sent[3].body, bytes);
  EXPECT_EQ(sent[3].body, "gh");
  // The CRC covers all bytes, even if a read returns fewer than requested.
  sent.clear();
  replies = {begun, stored("abc"), stored("def"), stored("gh"), done};
  const net::BodySource slow = [&](std::uint64_t at, std::span<char> into) {
    return net::source_of(bytes)(at, into.subspan(0, std::min<std::size_t>(into.size(), 2)));
  };
  EXPECT_TRUE(c.put_parts("k", bytes.size(), slow, 3));
  EXPECT_EQ(net::header_of(sent.at(0).headers, kCrcHeader), crc_text(crc32c(bytes)));
  // An empty object has one part: an upload without parts cannot be completed.
  sent.clear();
  replies = {begun, stored(""), done};
  EXPECT_TRUE(c.put_parts("k", 0, net::source_of(""), 3));
  EXPECT_EQ(sent.size(), 3u);
  // A failed part, a refused completion and an interrupt all abort the upload.
  replies = {begun, stored("abc"), error(403, "AccessDenied"), plain(204)};
  EXPECT_EQ(put(3).error().code, "AccessDenied");
  EXPECT_EQ(sent.back().method, "DELETE");
  replies = {begun, stored(bytes), error(400, "InvalidPart"), plain(204)};
  EXPECT_EQ(put(100).error().code, "InvalidPart");
  EXPECT_EQ(sent.back().method, "DELETE");
  replies = {begun, plain(204)};
  EXPECT_EQ(put(3, [] { return true; }).error().detail, "interrupted");
  EXPECT_EQ(sent.back().method, "DELETE");
  EXPECT_EQ(sent.size(), 2u);
  // If the parts cannot be removed, the error says so.
  replies = {begun, error(403, "AccessDenied"), error(403, "AccessDenied")};
  EXPECT_THAT(put(3).error().detail, HasSubstr("could not be removed"));
}

// S3 accepts 10,000 parts, so parts that are too small for that are made larger.
TEST_F(S3Upload, upload_has_at_most_ten_thousand_parts) {
  const Body body = Body::of(std::string(30'001, 'b'));
  const auto first_part = [&](std::uint64_t bytes, std::size_t part) {
    sent.clear();
    replies = {upload_begun(), plain(200, {{"etag", "\"e-1\""}}), plain(204)};
    int looks = 0;
    EXPECT_FALSE(client(1).put_parts("k", bytes, body.read, part, [&] { return looks++ == 1; }));
    return sent.at(1).body.size();
  };
  EXPECT_EQ(first_part(10'000, 1), 1u);
  EXPECT_EQ(first_part(10'001, 1), 2u);
  EXPECT_EQ(first_part(20'000, 1), 2u);
  EXPECT_EQ(first_part(20'001, 1), 3u);
  EXPECT_EQ(first_part(30'001, 7), 7u) << "the part size asked for is larger";
  EXPECT_EQ(first_part(3, 0), 1u) << "a part has at least one byte";
}

TEST_F(S3Upload, source_that_cannot_be_read_starts_no_upload) {
  const auto put = client().put_parts(
      "k", 5, [](std::uint64_t, std::span<char>) -> std::optional<std::size_t> { return {}; }, 2);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().fault, Fault::local);
  EXPECT_THAT(sent, IsEmpty());
}

// Every byte value that the check accepts, in order.
template <class Accepts>
std::string bytes_that(Accepts accepts) {
  std::string out;
  for (int byte = 1; byte < 256; ++byte) {
    if (accepts(static_cast<char>(byte))) out += static_cast<char>(byte);
  }
  return out;
}
const std::string kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const std::string kLower = "abcdefghijklmnopqrstuvwxyz";
const std::string kDigits = "0123456789";

TEST(S3Names, endpoint_is_a_scheme_and_a_host) {
  EXPECT_EQ(bytes_that([](char c) {
              return checked_endpoint(std::string("http://h") + c + "h").has_value();
            }),
            "-." + kDigits + ":" + kUpper + "[]" + kLower);
  EXPECT_EQ(checked_endpoint("https://Host-9.example:9000//").value(),
            "https://Host-9.example:9000");
  EXPECT_EQ(checked_endpoint("http://[::1]:80").value(), "http://[::1]:80");
  for (const char* bad : {"", "host", "http:///", "ftp://h", "http://u:p@h", "http://h/p",
                          "http://h?q", "http://a b"}) {
    ASSERT_FALSE(checked_endpoint(bad)) << bad;
    EXPECT_EQ(checked_endpoint(bad).error().front().code, "s3.endpoint");
  }
}

TEST(S3Names, location_is_a_bucket_and_a_prefix) {
  const auto location = [](const std::string& text) {
    const auto found = parse_location(text);
    if (!found) EXPECT_EQ(found.error().front().code, "s3.place");
    return found ? found->bucket + '|' + found->prefix : "refused";
  };
  EXPECT_EQ(bytes_that(
                [](char c) { return parse_location(std::string("s3://b") + c + "b").has_value(); }),
            "-." + kDigits + kLower);
  EXPECT_EQ(location("s3://a.b-9"), "a.b-9|");
  EXPECT_EQ(location("s3://abc/"), "abc|");
  EXPECT_EQ(location("s3://abc/p/q//"), "abc|p/q");
  EXPECT_EQ(location("s3://" + std::string(63, 'z') + "/x"), std::string(63, 'z') + "|x");
  EXPECT_EQ(location("s3://abc/" + std::string(900, 'p') + "/"), "abc|" + std::string(900, 'p'));
  for (const std::string& bad :
       {std::string("s3://"), std::string("s3://ab"), "s3://" + std::string(64, 'z'),
        std::string("s3:/abc"), std::string("https://abc/x"), std::string("bucketabc/x"),
        "s3://abc/" + std::string(901, 'p'), std::string("s3://abc/\xff")}) {
    EXPECT_EQ(location(bad), "refused") << bad;
  }
}

// Terminals and logs must not be flooded by what a user typed.
TEST(S3Names, fault_shows_at_most_200_bytes_of_the_text) {
  const std::string text(300, '?');
  EXPECT_EQ(checked_endpoint(text).error().front().place.file, text.substr(0, 200));
  EXPECT_EQ(parse_location(text).error().front().place.file, text.substr(0, 200));
}

// Each becomes a header line, so blanks and line breaks are refused.
TEST(S3Names, keys_come_from_the_environment_and_are_printable) {
  std::map<std::string, std::string> set = {
      {"AWS_ACCESS_KEY_ID", "AK"}, {"AWS_SECRET_ACCESS_KEY", "s/+"}, {"AWS_SESSION_TOKEN", "t"}};
  const auto read = [&] {
    return credentials_of([&](const char* name) -> const char* {
      const auto at = set.find(name);
      return at == set.end() ? nullptr : at->second.c_str();
    });
  };
  ASSERT_TRUE(read());
  EXPECT_EQ(read()->access_key, "AK");
  EXPECT_EQ(read()->secret_key, "s/+");
  EXPECT_EQ(read()->session_token, "t");
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}) {
    const std::string before = set[name];
    EXPECT_EQ(bytes_that([&](char c) {
                set[name] = c;
                return read().has_value();
              }),
              bytes_that([](char c) { return c >= '!' && c <= '~'; }))
        << name;
    set[name] = before;
  }
  set.erase("AWS_SESSION_TOKEN");
  EXPECT_TRUE(read()) << "the token is optional";
  set["AWS_ACCESS_KEY_ID"] = "";
  ASSERT_FALSE(read());
  EXPECT_EQ(read().error().front().code, "s3.credentials");
  set["AWS_ACCESS_KEY_ID"] = "AK";
  set.erase("AWS_SECRET_ACCESS_KEY");
  EXPECT_FALSE(read());
}

}  // namespace
}  // namespace orrery::s3::upload_tests
