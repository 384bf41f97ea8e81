// What the client does at its bounds: the largest it holds, the parts of an upload, the attempts it
// tells, and digests held against those of another program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "core/base/digest.h"
#include "live/s3/cipher.h"
#include "live/s3/client.h"
#include "live/s3/hash.h"
#include "live/s3/receiver.h"
#include "live/s3/retry.h"
#include "live/s3/xml.h"

namespace orrery::s3::bounds_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class BoundsTest : public testing::Test {
 protected:
  Client client(int attempts = 3) {
    return Client(
        {.endpoint = "http://store//",
         .bucket = "pail",
         .credentials = {"AK", "s", ""},
         .retry = {.attempts_max = attempts, .base_s = 2, .cap_s = 1},
         .writer = "me"},
        [this](const net::Question& question) {
          asked.push_back(question.method + ' ' + question.url);
          return answer(question);
        },
        [this](double s) { slept.push_back(s); }, [] { return std::string("20130524T000000Z"); });
  }
  static net::Reply said(int status, const std::string& body = "", net::HeaderList headers = {}) {
    net::Reply reply;
    reply.status = status;
    reply.body = body;
    reply.headers = std::move(headers);
    return reply;
  }
  std::function<net::Reply(const net::Question&)> answer;
  std::vector<std::string> asked;
  std::vector<double> slept;
};

// AES-256-GCM by Python's cryptography 38, key HMAC-SHA256(00..1f, "orrery-blob\0" and the name),
// nonce 01020304 05060708090a0b0c.
TEST(Ciphers, seal_as_another_program_does) {
  std::string master;
  for (int i = 0; i < 32; ++i) master += static_cast<char>(i);
  const BlockCipher cipher(master, "0000000a00000001000000ff");
  const std::string sealed = cipher.seal(0x01020304u, 0x05060708090a0b0cu, "bytes of a block");
  EXPECT_EQ(to_hex(sealed), "b74b57eca79565721cc9c8c19e8bcc74f1803d7269dfffdd1f5c5dae1fd0715f");
  EXPECT_EQ(cipher.open(0x01020304u, 0x05060708090a0b0cu, sealed), "bytes of a block");
  EXPECT_FALSE(cipher.open(0x01020305u, 0x05060708090a0b0cu, sealed));
  EXPECT_FALSE(cipher.open(0x01020304u, 0x05060708090a0b0du, sealed));
  EXPECT_FALSE(cipher.open(0, 0, "short"));
  EXPECT_EQ(cipher.open(1, 2, cipher.seal(1, 2, "")), "") << "of nothing there is the seal alone";
}

TEST(Ciphers, a_key_ends_where_it_ends) {
  const std::string_view longer = "keys and more";
  EXPECT_EQ(hmac_sha256(longer.substr(0, 3), "text"), hmac_sha256("key", "text"));
}

TEST(Defaults, of_patience_and_of_documents) {
  const RetryPolicy retry;
  EXPECT_EQ(retry.attempts_max, 7);
  EXPECT_DOUBLE_EQ(retry.base_s, 0.1);
  EXPECT_DOUBLE_EQ(retry.cap_s, 5);
  const XmlLimits limits;
  EXPECT_EQ(limits.bytes_max, 16'777'216u);
  EXPECT_EQ(limits.depth_max, 16);
  EXPECT_EQ(Part{}.number, 1);
  EXPECT_EQ(Whole{}.bytes + Whole{}.crc32c + Head{}.bytes + Entry{}.bytes, 0u);
}

TEST(Etags, lose_their_quotes_where_they_have_both) {
  EXPECT_EQ(unquoted("\"a\""), "a");
  EXPECT_EQ(unquoted("\"a"), "\"a");
  EXPECT_EQ(unquoted("a\""), "a\"");
  EXPECT_EQ(unquoted("\""), "\"");
  EXPECT_EQ(unquoted("\"\""), "");
  EXPECT_EQ(unquoted("W/\"a\""), "a");
}

// Six gibibytes and a byte that nobody may read: what is too large is refused before it is copied.
TEST(HeldBytes, are_not_more_than_an_object_may_have) {
  const std::size_t bytes = (std::size_t{6} << 30) + 1;
  void* const place =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(place, MAP_FAILED);
  std::string into = "before";
  const Writer writer = writer_into(into);
  EXPECT_FALSE(writer.take({static_cast<const char*>(place), bytes}));
  EXPECT_FALSE(writer.take({static_cast<const char*>(place), bytes - 6})) << "with what is there";
  EXPECT_EQ(into, "before");
  EXPECT_TRUE(writer.take("+"));
  EXPECT_EQ(into, "before+");
  EXPECT_TRUE(writer.restart());
  EXPECT_EQ(into, "");
  ::munmap(place, bytes);
}

TEST_F(BoundsTest, a_conditional_put_tells_how_often_it_was_sent) {
  answer = [](const net::Question& question) {
    if (question.method == "HEAD") return said(404);
    net::Reply lost;
    lost.fault = net::NetFault::broken;
    lost.fault_text = "cut off";
    return lost;
  };
  const auto put = client().put_new("k", Body::of("bytes"));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().attempts, 3);
  EXPECT_EQ(put.error().fault, Fault::unreachable);
  EXPECT_EQ(put.error().detail, "cut off");
  EXPECT_EQ(put.error().operation, "PUT pail/k");
  const std::string url = "http://store/pail/k";
  EXPECT_THAT(asked, ElementsAre("PUT " + url, "HEAD " + url, "PUT " + url, "HEAD " + url,
                                 "PUT " + url, "HEAD " + url));
  EXPECT_EQ(slept.size(), 2u);
}

TEST_F(BoundsTest, parts_have_a_byte_at_least) {
  answer = [](const net::Question& question) {
    if (question.url.find("uploads") != std::string::npos) {
      return said(200,
                  "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                  "</InitiateMultipartUploadResult>");
    }
    if (question.method == "POST") return said(200, "<CompleteMultipartUploadResult/>");
    return said(200, "", {{"etag", "\"e-1\""}});
  };
  const auto parts = [&](const std::string& bytes, std::size_t part) {
    asked.clear();
    const auto put = client().put_parts("k", bytes.size(), Body::of(bytes).read, part);
    EXPECT_TRUE(put) << put.error().detail;
    return std::ranges::count_if(asked, [](const std::string& a) { return a.starts_with("PUT"); });
  };
  EXPECT_EQ(parts("abc", 0), 3);
  EXPECT_EQ(parts("abc", 1), 3);
  EXPECT_EQ(parts("abc", 2), 2);
  EXPECT_EQ(parts("abcd", 2), 2);
  EXPECT_EQ(parts("abc", 3), 1);
  EXPECT_EQ(parts("", 3), 1) << "one that is empty";
}

TEST_F(BoundsTest, what_cannot_be_read_is_not_begun) {
  answer = [](const net::Question&) { return said(500); };
  const auto put = client().put_parts(
      "k", 5, [](std::uint64_t, std::span<char>) -> std::optional<std::size_t> { return {}; }, 2);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().fault, Fault::local);
  EXPECT_EQ(put.error().detail, "the bytes to be sent could not be read");
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(BoundsTest, part_of_an_object_is_not_verified) {
  answer = [](const net::Question& question) {
    net::Reply reply = said(206, "", {{"content-range", "bytes 3-5/9"}, {"content-length", "3"}});
    EXPECT_TRUE(question.take(reply, "def"));
    return reply;
  };
  const auto got = client().get_range("k", 3, 3);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, "def");
  EXPECT_FALSE(got->verified);
  EXPECT_EQ(got->head.bytes, 3u);
}

}  // namespace
}  // namespace orrery::s3::bounds_tests
