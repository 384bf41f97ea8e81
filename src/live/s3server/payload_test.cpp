// Bodies as they arrive: what their headers announce, signed and unsigned chunks, trailers, and
// large bodies whose digests are computed while they are written.
#include "live/s3server/payload.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "live/s3/checksum.h"
#include "live/s3/hash.h"

namespace orrery::s3server::payload_tests {
namespace {

const std::string kUnsigned = "UNSIGNED-PAYLOAD";

const std::string kChunks = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

Answer<PayloadPlan> plan_of(net::HeaderList headers, const std::string& payload = kUnsigned) {
  const net::Request raw{.method = "PUT", .target = "/pail/k", .headers = std::move(headers)};
  return payload_plan_of(raw, {.tenant = {}, .payload = payload}, kNeverQuick);
}

std::string refused_as(net::HeaderList headers, const std::string& payload = kUnsigned) {
  const auto plan = plan_of(std::move(headers), payload);
  return plan ? "taken" : plan.error().code;
}

TEST(PayloadPlanTest, has_the_announced_length) {
  EXPECT_EQ(plan_of({{"Content-Length", "17"}})->length, 17u);
  EXPECT_EQ(plan_of({{"Content-Length", "0"}})->length, 0u);
  EXPECT_EQ(plan_of({})->length, std::nullopt);
  EXPECT_EQ(
      plan_of({{"Content-Length", "99"}, {"x-amz-decoded-content-length", "17"}}, kChunks)->length,
      17u);
  EXPECT_EQ(plan_of({{"Content-Length", "99"}, {"x-amz-decoded-content-length", "17"}})->length,
            99u);
  EXPECT_EQ(refused_as({{"Content-Length", "99"}}, kChunks), "MissingContentLength");
  EXPECT_EQ(refused_as({{"Content-Length", "-1"}}), "InvalidArgument");
  EXPECT_EQ(refused_as({{"Content-Length", "x"}}), "InvalidArgument");
}

TEST(PayloadPlanTest, names_one_checksum) {
  const auto given = plan_of({{"X-Amz-Checksum-SHA1", "AAAA"}, {"x-amz-checksum-type", "x"}});
  EXPECT_EQ(given->sum, SumKind::sha1);
  EXPECT_EQ(given->sum_value, "AAAA");
  EXPECT_FALSE(given->sum_in_trailer);
  const auto wished = plan_of({{"x-amz-sdk-checksum-algorithm", "CRC32C"}});
  EXPECT_EQ(wished->sum, SumKind::crc32c);
  EXPECT_EQ(wished->sum_value, "");
  const auto both =
      plan_of({{"x-amz-sdk-checksum-algorithm", "CRC32C"}, {"x-amz-checksum-crc32", "AAAA"}});
  EXPECT_EQ(both->sum, SumKind::crc32) << "the checksum that was sent, not the requested one";
  const auto later = plan_of({{"x-amz-trailer", " X-Amz-Checksum-Crc32 "}});
  EXPECT_EQ(later->sum, SumKind::crc32);
  EXPECT_TRUE(later->sum_in_trailer);
  EXPECT_FALSE(plan_of({{"x-amz-trailer", "x-other"}})->sum);
  const std::string none = "InvalidRequest";
  EXPECT_EQ(refused_as({{"x-amz-checksum-md9", "AAAA"}}), none);
  EXPECT_EQ(refused_as({{"x-amz-trailer", "x-amz-checksum-md9"}}), none);
  EXPECT_EQ(refused_as({{"x-amz-sdk-checksum-algorithm", "md9"}}), none);
  const std::string two = "InvalidRequest";
  EXPECT_EQ(refused_as({{"x-amz-checksum-crc32", "AAAA"}, {"x-amz-checksum-sha1", "AAAA"}}), two);
  EXPECT_EQ(
      refused_as({{"x-amz-checksum-crc32", "AAAA"}, {"x-amz-trailer", "x-amz-checksum-sha1"}}),
      two);
  for (const char* bad : {"", "!"}) {
    EXPECT_EQ(refused_as({{"x-amz-checksum-crc32", bad}}), "InvalidRequest");
  }
}

TEST(PayloadPlanTest, takes_an_md5_of_sixteen_bytes) {
  EXPECT_EQ(plan_of({{"content-md5", to_base64(std::string(16, 'm'))}})->md5, std::string(16, 'm'));
  for (const char* bad : {"", "AAAA", "no!"}) {
    EXPECT_EQ(refused_as({{"Content-MD5", bad}}), "InvalidDigest") << bad;
  }
  EXPECT_FALSE(plan_of({})->md5);
}

// An ETag is quick, without an MD5, only for large bodies whose client sent none.
TEST(PayloadPlanTest, is_quick_for_large_bodies_without_an_md5) {
  net::Request raw{
      .method = "PUT",
      .target = "/pail/k",
      .headers = {{"Content-Length", "9"}, {"Content-MD5", to_base64(s3::md5("123456789"))}}};
  EXPECT_FALSE(payload_plan_of(raw, {.payload = "UNSIGNED-PAYLOAD"}, 5)->quick);
  raw.headers.pop_back();
  EXPECT_TRUE(payload_plan_of(raw, {.payload = "UNSIGNED-PAYLOAD"}, 9)->quick);
  EXPECT_FALSE(payload_plan_of(raw, {.payload = "UNSIGNED-PAYLOAD"}, 10)->quick);
}

struct Read {
  std::string bytes;
  std::string code;
  PayloadEnd end = {};
};

Read read_body(PayloadPlan plan, const std::vector<std::string_view>& pieces) {
  Read read;
  PayloadReader reader(std::move(plan));
  for (const std::string_view piece : pieces) {
    const auto taken = reader.take(piece, [&](std::string_view some) -> Answer<void> {
      read.bytes += some;
      return {};
    });
    if (taken) continue;
    read.code = taken.error().code;
    return read;
  }
  auto end = reader.finish();
  if (end) read.end = std::move(*end);
  if (!end) read.code = end.error().code;
  return read;
}

TEST(Payload, a_plain_body_has_its_announced_length) {
  const Read good = read_body({.payload = kUnsigned, .length = 9}, {"1234", "56789"});
  EXPECT_EQ(good.code, "");
  EXPECT_EQ(good.bytes, "123456789");
  EXPECT_EQ(good.end.size, 9u);
  EXPECT_EQ(good.end.crc, 0u);
  EXPECT_EQ(good.end.md5, "25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(etag_of(good.end, "blob"), good.end.md5);
  EXPECT_EQ(good.end.checksum.algorithm, "");
  EXPECT_EQ(read_body({.payload = kUnsigned, .length = 10}, {"123456789"}).code, "IncompleteBody");
  const Read more = read_body({.payload = kUnsigned, .length = 8}, {"1234", "56789"});
  EXPECT_EQ(more.code, "InvalidRequest");
  EXPECT_EQ(more.bytes, "1234");
  EXPECT_EQ(read_body({.payload = kUnsigned}, {"12"}).end.size, 2u) << "no digest was announced";
}

TEST(Payload, digests_are_checked) {
  const std::string sha = "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225";
  EXPECT_EQ(read_body({.payload = sha, .length = 9}, {"123456789"}).code, "");
  EXPECT_EQ(read_body({.payload = "15E2B0" + sha.substr(6), .length = 9}, {"123456789"}).code, "");
  EXPECT_EQ(read_body({.payload = sha, .length = 9}, {"123456788"}).code,
            "XAmzContentSHA256Mismatch");
  EXPECT_EQ(
      read_body({.payload = kUnsigned, .length = 9, .md5 = s3::md5("123456789")}, {"123456789"})
          .code,
      "");
  EXPECT_EQ(
      read_body({.payload = kUnsigned, .length = 9, .md5 = s3::md5("12345678x")}, {"123456789"})
          .code,
      "BadDigest");
  // The check value of CRC-32, cbf43926, in base64.
  const Read summed = read_body(
      {.payload = kUnsigned, .sum = SumKind::crc32, .sum_value = "y/Q5Jg=="}, {"123456789"});
  EXPECT_EQ(summed.code, "");
  EXPECT_EQ(summed.end.checksum.algorithm, "CRC32");
  EXPECT_EQ(summed.end.checksum.value, "y/Q5Jg==");
  EXPECT_EQ(summed.end.checksum.kind, "FULL_OBJECT");
  EXPECT_EQ(read_body({.payload = kUnsigned, .sum = SumKind::crc32, .sum_value = "y/Q5Jw=="},
                      {"123456789"})
                .code,
            "BadDigest");
  const Read asked = read_body({.payload = kUnsigned, .sum = SumKind::crc32}, {"123456789"});
  EXPECT_EQ(asked.end.checksum.value, "y/Q5Jg==") << "the client asked for a checksum";
  // CRC-64/XZ, 995dc9bbdf1939fa, of a quick body.
  const Read quick = read_body({.payload = kUnsigned, .quick = true}, {"12345", "6789"});
  EXPECT_EQ(quick.end.md5, "");
  EXPECT_EQ(quick.end.crc, 0x995dc9bbdf1939fau);
  EXPECT_EQ(etag_of(quick.end, "0000000a00000001000000ff"), "995dc9bbdf1939fa0000000a000000ff-1");
}

TEST(Payload, chunks_are_unwrapped_or_refused) {
  const auto chunks = [](const std::string& body, std::uint64_t length = 9) {
    return read_body({.payload = kChunks, .length = length}, {body});
  };
  EXPECT_EQ(chunks("9\r\n123456789\r\n0\r\n\r\n").bytes, "123456789");
  EXPECT_EQ(chunks("4;x=y\r\n1234\r\n5\n56789\n0\n\n").bytes, "123456789");
  EXPECT_EQ(chunks("4\r\n1234\r\n5\r\n56789\r\n0\r\n").code, "") << "no empty line after the "
                                                                    "trailer";
  EXPECT_EQ(chunks("A\r\n123456789A\r\n0\r\n\r\n", 10).bytes, "123456789A") << "hexadecimal";
  EXPECT_EQ(chunks("9\r\n123456789\r\n").code, "IncompleteBody");
  EXPECT_EQ(chunks("9\r\n12345").code, "IncompleteBody");
  EXPECT_EQ(chunks("5\r\n12345\r\n0\r\n\r\n").code, "IncompleteBody");
  for (const char* bad : {"\r\n", "x\r\n", "5x\r\n", ";a\r\n", "-5\r\n"}) {
    EXPECT_EQ(chunks(bad).code, "InvalidRequest") << bad;
  }
  EXPECT_EQ(chunks("4\r\n12345\r\n").code, "InvalidRequest");
  EXPECT_EQ(chunks("9\r\n123456789\r\n0\r\n\r\nmore\r\n").code, "InvalidRequest");
  EXPECT_EQ(chunks("9;" + std::string(4094, 'x') + "\r\n123456789\r\n0\r\n\r\n").code,
            "InvalidRequest");
  EXPECT_EQ(chunks("9;" + std::string(4094, 'x') + "\n123456789\r\n0\r\n\r\n").code, "");
}

TEST(Payload, a_trailer_is_read_up_to_16_kib) {
  const auto trailed = [](const std::string& trailer) {
    return read_body(
        {.payload = kChunks, .length = 9, .sum = SumKind::crc32, .sum_in_trailer = true},
        {"9\r\n123456789\r\n0\r\n" + trailer + "\r\n"});
  };
  EXPECT_EQ(trailed("a:b\r\nX-Amz-Checksum-CRC32 : y/Q5Jg== \r\nc\r\n").code, "");
  EXPECT_EQ(trailed("x-amz-checksum-crc32\r\n").code, "MalformedTrailerError")
      << "the checksum has no value";
  EXPECT_EQ(trailed("x-amz-checksum-crc32:AAAA\r\n").code, "BadDigest");
  // 16384 bytes including the line ends, and one more.
  std::string lines;
  for (int i = 0; i < 16; ++i) lines += std::string(1023, 'l') + "\n";
  EXPECT_EQ(read_body({.payload = kChunks, .length = 1}, {"1\r\n1\r\n0\r\n" + lines + "\r\n"}).code,
            "");
  EXPECT_EQ(
      read_body({.payload = kChunks, .length = 1}, {"1\r\n1\r\n0\r\nx" + lines + "\r\n"}).code,
      "MalformedTrailerError");
}

TEST(Payload, large_bodies_have_the_digests_of_all_their_bytes) {
  std::string body;
  while (body.size() < (4u << 20)) body += "0123456789abcdefghijklmnopqrstuvwxyz";
  body.resize(4u << 20);
  const std::string_view all = body;
  const std::vector<std::string_view> pieces = {all.substr(0, 40'000), all.substr(40'000, 1'000),
                                                all.substr(41'000, 32u << 10),
                                                all.substr(41'000 + (32u << 10))};
  s3::Summer summer(SumKind::crc32c);
  summer.add(body);
  const Read read = read_body({.payload = s3::sha256_hex(body),
                               .length = body.size(),
                               .md5 = s3::md5(body),
                               .sum = SumKind::crc32c,
                               .sum_value = to_base64(summer.finish())},
                              pieces);
  EXPECT_EQ(read.code, "");
  EXPECT_EQ(read.end.md5, to_hex(s3::md5(body)));
  EXPECT_EQ(read.bytes, body);
  body[3'000'000] ^= 1;
  EXPECT_EQ(read_body({.payload = s3::sha256_hex("other"), .length = body.size()}, pieces).code,
            "XAmzContentSHA256Mismatch");
}

TEST(Payload, an_endless_chunk_head_is_refused) {
  PayloadReader reader({.payload = "STREAMING-UNSIGNED-PAYLOAD-TRAILER", .length = 9});
  const auto sink = [](std::string_view) -> Answer<void> { return {}; };
  EXPECT_TRUE(reader.take(std::string(4096, '0'), sink));
  EXPECT_FALSE(reader.take("0", sink));
}

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

}  // namespace
}  // namespace orrery::s3server::payload_tests
