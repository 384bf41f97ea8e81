#include "live/s3/receiver.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/s3/hash.h"

namespace orrery::s3::receiver_tests {
namespace {

net::Reply headed(int status, HeaderList headers) {
  net::Reply reply;
  reply.status = status;
  reply.headers = std::move(headers);
  return reply;
}

// Passes the pieces on as a client does. Returns the fault, or an empty text.
std::string received(Receiver& receiver, const net::Reply& head,
                     const std::vector<std::string>& pieces) {
  if (!receiver.begin()) return "cannot begin";
  for (const std::string& piece : pieces) {
    if (!receiver.take(head, piece)) return "gave up";
  }
  return receiver.check(head);
}

TEST(Receiver, etag_loses_its_quotes_and_its_weakness) {
  EXPECT_EQ(unquoted("\"abc\""), "abc");
  EXPECT_EQ(unquoted("W/\"abc\""), "abc");
  EXPECT_EQ(unquoted("abc"), "abc");
  EXPECT_EQ(unquoted("\"a"), "\"a");
  EXPECT_EQ(unquoted("\"\""), "");
  EXPECT_EQ(unquoted("\""), "\"");
  EXPECT_EQ(unquoted(""), "");
  EXPECT_EQ(crc_text(0xab), "000000ab");
}

TEST(Receiver, etag_of_parts_or_encrypted_by_a_key_service_is_no_md5) {
  const std::string digits = to_hex(md5("x"));
  EXPECT_TRUE(etag_is_md5(headed(200, {}), digits));
  EXPECT_TRUE(etag_is_md5(headed(200, {{"x-amz-server-side-encryption", "AES256"}}), digits));
  EXPECT_FALSE(etag_is_md5(headed(200, {{"x-amz-server-side-encryption", "aws:kms"}}), digits));
  EXPECT_FALSE(etag_is_md5(headed(200, {}), digits + "-2"));
  EXPECT_FALSE(etag_is_md5(headed(200, {}), std::string(32, 'z')));
  EXPECT_FALSE(etag_is_md5(headed(200, {}), digits.substr(1)));
  EXPECT_FALSE(etag_is_md5(headed(200, {}), digits.substr(1) + "A"));
}

TEST(Receiver, whole_object_is_checked_by_its_crc_or_else_its_md5) {
  std::string into;
  const Writer writer = writer_into(into);
  const std::string crc = crc_text(crc32c("hello world"));
  const std::string digits = '"' + to_hex(md5("hello world")) + '"';
  const std::vector<std::string> right = {"hello ", "", "world"};
  const std::vector<std::string> wrong = {"hello ", "World"};
  const HeaderList own = {{std::string(kCrcHeader), crc}, {"etag", "\"of-2\""}};
  {
    Receiver receiver(writer);
    EXPECT_EQ(received(receiver, headed(200, own), right), "");
    EXPECT_TRUE(receiver.verified());
    EXPECT_EQ(into, "hello world");
    // The next attempt starts over, and so do its digests.
    EXPECT_NE(received(receiver, headed(200, own), wrong), "");
    EXPECT_EQ(received(receiver, headed(200, own), right), "");
    EXPECT_EQ(into, "hello world");
  }
  into.clear();
  {
    Receiver receiver(writer);
    EXPECT_EQ(received(receiver, headed(200, {{"etag", digits}}), right), "");
    EXPECT_TRUE(receiver.verified());
    EXPECT_NE(received(receiver, headed(200, {{"etag", digits}}), wrong), "");
  }
  into.clear();
  {
    Receiver receiver(writer);  // no digest to check: accepted as unverified
    EXPECT_EQ(received(receiver, headed(200, {{"etag", "\"of-2\""}}), wrong), "");
    EXPECT_FALSE(receiver.verified());
  }
}

TEST(Receiver, range_is_checked_against_its_content_range) {
  const auto ranged = [](const std::string& said, const std::vector<std::string>& pieces,
                         int status = 206) {
    std::string into;
    const Writer writer = writer_into(into);
    Receiver receiver(writer, Receiver::Range{10, 4});
    const std::string fault = received(receiver, headed(status, {{"content-range", said}}), pieces);
    EXPECT_FALSE(receiver.verified());
    return std::pair(fault.empty(), into);
  };
  EXPECT_EQ(ranged("bytes 10-13/100", {"ab", "cd"}), std::pair(true, std::string("abcd")));
  // More than the requested range, and the answer says so: the rest is dropped.
  EXPECT_EQ(ranged("bytes 10-15/100", {"abc", "def"}), std::pair(true, std::string("abcd")));
  EXPECT_FALSE(ranged("bytes 10-11/12", {"ab"}).first);     // too few bytes
  EXPECT_FALSE(ranged("bytes 10-13/100", {"abc"}).first);   // fewer bytes than announced
  EXPECT_FALSE(ranged("bytes 10-12/100", {"abcd"}).first);  // more bytes than announced
  EXPECT_FALSE(ranged("bytes 10-13/100", {}).first);        // no bytes
  EXPECT_EQ(ranged("bytes 0-3/100", {"abcd"}), std::pair(false, std::string()));
  EXPECT_EQ(ranged("bytes 10-13/100", {"abcd"}, 200), std::pair(false, std::string()));
  EXPECT_EQ(ranged("", {"abcd"}), std::pair(false, std::string()));
}

TEST(Receiver, writer_that_cannot_go_on_or_restart_ends_the_request) {
  const net::Reply head = headed(200, {});
  const Writer stops{.take = [](std::string_view) { return false; }};
  Receiver stopped(stops);
  EXPECT_EQ(received(stopped, head, {"x"}), "gave up");
  EXPECT_TRUE(stopped.gave_up());
  const Writer once{.take = [](std::string_view) { return true; }};
  Receiver single(once);
  EXPECT_TRUE(single.begin());
  EXPECT_TRUE(single.begin()) << "no byte was passed on yet";
  EXPECT_TRUE(single.take(head, "x"));
  EXPECT_FALSE(single.begin());
  EXPECT_TRUE(single.gave_up());
}

}  // namespace
}  // namespace orrery::s3::receiver_tests
