// The pure parts of the protocol: signatures, chunks, names.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/s3/checksum.h"
#include "live/s3server/payload.h"
#include "live/s3server/s3_request.h"
#include "live/upkeep/quick_etag.h"

namespace orrery::s3server {
namespace {

// The example of the S3 API reference, "Signature calculations: transferring payload in multiple
// chunks": 64 KiB and 1 KiB of the letter a.
struct Example {
  ChunkSeed seed{.key = {},
                 .time = "20130524T000000Z",
                 .scope = "20130524/us-east-1/s3/aws4_request",
                 .signature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"};
  std::string body;
};

Example example() {
  Example made;
  std::string key = s3::hmac_sha256("AWS4wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524");
  for (const char* step : {"us-east-1", "s3", "aws4_request"}) key = s3::hmac_sha256(key, step);
  made.seed.key = key;
  made.body =
      "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n" +
      std::string(65536, 'a') +
      "\r\n400;chunk-signature="
      "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n" +
      std::string(1024, 'a') +
      "\r\n0;chunk-signature="
      "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n";
  return made;
}

Answer<PayloadEnd> read_example(const Example& from, std::size_t piece, std::string& bytes) {
  PayloadReader reader(
      {.payload = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", .seed = from.seed, .length = 66560});
  for (std::size_t at = 0; at < from.body.size(); at += piece) {
    const auto taken = reader.take(std::string_view(from.body).substr(at, piece),
                                   [&](std::string_view some) -> Answer<void> {
                                     bytes += some;
                                     return {};
                                   });
    if (!taken) return std::unexpected(taken.error());
  }
  return reader.finish();
}

TEST(Payload, signed_chunks_are_unwrapped_however_they_are_cut) {
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{1} << 20}) {
    std::string bytes;
    const auto end = read_example(example(), piece, bytes);
    ASSERT_TRUE(end) << end.error().code << ' ' << piece;
    EXPECT_EQ(bytes, std::string(66560, 'a'));
    EXPECT_EQ(end->size, 66560u);
  }
}

TEST(Payload, a_changed_byte_of_a_signed_chunk_is_refused) {
  for (const std::size_t at :
       {std::size_t{100}, std::size_t{65000}, std::size_t{66000}, std::size_t{20}}) {
    Example bad = example();
    bad.body[at] ^= 1;
    std::string bytes;
    EXPECT_FALSE(read_example(bad, 4096, bytes)) << at;
  }
  Example cut = example();
  cut.body.resize(cut.body.size() - 100);
  std::string bytes;
  EXPECT_FALSE(read_example(cut, 4096, bytes));
}

TEST(Payload, a_large_body_without_an_md5_gets_an_etag_that_is_none) {
  // The check value of CRC-64/XZ.
  EXPECT_EQ(drives::content_crc("123456789"), 0x995dc9bbdf1939fau);
  EXPECT_EQ(drives::content_crc("6789", drives::content_crc("12345")), 0x995dc9bbdf1939fau);
  const std::string etag = upkeep::quick_etag(0x995dc9bbdf1939fau, "0000000a00000001000000ff");
  EXPECT_EQ(etag, "995dc9bbdf1939fa0000000a000000ff-1");
  EXPECT_EQ(upkeep::crc_of_etag(etag), 0x995dc9bbdf1939fau);
  EXPECT_FALSE(upkeep::crc_of_etag("d41d8cd98f00b204e9800998ecf8427e"));
  EXPECT_FALSE(upkeep::crc_of_etag("d41d8cd98f00b204e9800998ecf8427e-12"));
  EXPECT_FALSE(upkeep::crc_of_etag("d41d8cd98f00b204e9800998ecf8427e-11-1"));
  EXPECT_FALSE(upkeep::crc_of_etag("x95dc9bbdf1939fa0000000a000000ff-1"));
}

TEST(Payload, a_trailing_checksum_is_checked) {
  const auto read = [](const std::string& sum) {
    PayloadReader reader({.payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
                          .length = 9,
                          .sum = SumKind::crc32,
                          .sum_in_trailer = true});
    const std::string body = "9\r\n123456789\r\n0\r\nx-amz-checksum-crc32:" + sum + "\r\n\r\n";
    const auto taken = reader.take(body, [](std::string_view) -> Answer<void> { return {}; });
    if (!taken) return Answer<PayloadEnd>(std::unexpected(taken.error()));
    return reader.finish();
  };
  const auto good = read("y/Q5Jg==");
  ASSERT_TRUE(good) << good.error().code;
  EXPECT_EQ(good->checksum.value, "y/Q5Jg==");
  EXPECT_EQ(read("AAAAAA==").error().code, "BadDigest");
  EXPECT_EQ(read("").error().code, "MalformedTrailerError");
}

TEST(Request, bucket_and_key_come_from_path_or_host) {
  const auto of = [](const std::string& target, const std::string& host) {
    return s3_request_of({.target = target, .headers = {{"Host", host}}}, "localhost");
  };
  const auto path = of("/b/a%20b/%2e%2e/c+d?prefix=x+y&acl", "127.0.0.1:80");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->bucket, "b");
  EXPECT_EQ(path->key, "a b/../c+d");
  EXPECT_EQ(path->parameter("prefix"), "x y");
  EXPECT_TRUE(path->has("acl"));
  const auto host = of("/k", "pail.localhost:8118");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->bucket, "pail");
  EXPECT_EQ(host->key, "k");
  EXPECT_FALSE(of("/b/%zz", "h"));
  EXPECT_FALSE(of("/b/%00", "h"));
  EXPECT_FALSE(of("/b/%ff", "h"));
  EXPECT_FALSE(of("b", "h"));
  EXPECT_TRUE(of("/b/" + std::string(1024, 'k'), "h"));
  EXPECT_EQ(of("/b/" + std::string(1025, 'k'), "h").error().code, "KeyTooLongError");
}

TEST(Request, names_of_buckets) {
  for (const char* good : {"abc", "a-b.c", "0ab", "a.b"}) EXPECT_TRUE(is_bucket_name(good)) << good;
  for (const char* bad :
       {"", "a", "ab", "Abc", "a_b", "-ab", "ab-", "a..b", "a.-b", "a-.b", "1.2.3.4"}) {
    EXPECT_FALSE(is_bucket_name(bad)) << bad;
  }
  EXPECT_FALSE(is_bucket_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace orrery::s3server
