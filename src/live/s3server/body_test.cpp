// Bodies as they come: what their headers announce, chunks line by line, and large ones whose
// digests are made beside the writing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "live/s3server/hash_lane.h"
#include "live/s3server/payload.h"

namespace orrery::s3server::body_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kUnsigned = "UNSIGNED-PAYLOAD";
const std::string kChunks = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";

Answer<PayloadPlan> plan_of(net::HeaderList headers, const std::string& payload = kUnsigned) {
  const net::Request raw{.method = "PUT", .target = "/pail/k", .headers = std::move(headers)};
  return payload_plan_of(raw, {.tenant = {}, .payload = payload}, kNeverQuick);
}
std::string refused_as(net::HeaderList headers, const std::string& payload = kUnsigned) {
  const auto plan = plan_of(std::move(headers), payload);
  return plan ? "taken" : plan.error().code + ": " + plan.error().message;
}

TEST(BodyPlans, have_the_length_that_was_announced) {
  EXPECT_EQ(plan_of({{"Content-Length", "17"}})->length, 17u);
  EXPECT_EQ(plan_of({{"Content-Length", "0"}})->length, 0u);
  EXPECT_EQ(plan_of({})->length, std::nullopt);
  EXPECT_EQ(
      plan_of({{"Content-Length", "99"}, {"x-amz-decoded-content-length", "17"}}, kChunks)->length,
      17u);
  EXPECT_EQ(plan_of({{"Content-Length", "99"}, {"x-amz-decoded-content-length", "17"}})->length,
            99u);
  EXPECT_EQ(refused_as({{"Content-Length", "99"}}, kChunks), "MissingContentLength: ");
  EXPECT_EQ(refused_as({{"Content-Length", "-1"}}), "InvalidArgument: A length is malformed.");
  EXPECT_EQ(refused_as({{"Content-Length", "x"}}), "InvalidArgument: A length is malformed.");
}

TEST(BodyPlans, name_one_checksum) {
  const auto given = plan_of({{"X-Amz-Checksum-SHA1", "AAAA"}, {"x-amz-checksum-type", "x"}});
  EXPECT_EQ(given->sum, SumKind::sha1);
  EXPECT_EQ(given->sum_value, "AAAA");
  EXPECT_FALSE(given->sum_in_trailer);
  const auto wished = plan_of({{"x-amz-sdk-checksum-algorithm", "CRC32C"}});
  EXPECT_EQ(wished->sum, SumKind::crc32c);
  EXPECT_EQ(wished->sum_value, "");
  const auto both =
      plan_of({{"x-amz-sdk-checksum-algorithm", "CRC32C"}, {"x-amz-checksum-crc32", "AAAA"}});
  EXPECT_EQ(both->sum, SumKind::crc32) << "what was sent, not what was wished for";
  const auto later = plan_of({{"x-amz-trailer", " X-Amz-Checksum-Crc32 "}});
  EXPECT_EQ(later->sum, SumKind::crc32);
  EXPECT_TRUE(later->sum_in_trailer);
  EXPECT_FALSE(plan_of({{"x-amz-trailer", "x-other"}})->sum);
  const std::string none = "InvalidRequest: There is no such checksum algorithm.";
  EXPECT_EQ(refused_as({{"x-amz-checksum-md9", "AAAA"}}), none);
  EXPECT_EQ(refused_as({{"x-amz-trailer", "x-amz-checksum-md9"}}), none);
  EXPECT_EQ(refused_as({{"x-amz-sdk-checksum-algorithm", "md9"}}), none);
  const std::string two = "InvalidRequest: Expecting a single x-amz-checksum- header.";
  EXPECT_EQ(refused_as({{"x-amz-checksum-crc32", "AAAA"}, {"x-amz-checksum-sha1", "AAAA"}}), two);
  EXPECT_EQ(
      refused_as({{"x-amz-checksum-crc32", "AAAA"}, {"x-amz-trailer", "x-amz-checksum-sha1"}}),
      two);
  for (const char* bad : {"", "!"}) {
    EXPECT_EQ(refused_as({{"x-amz-checksum-crc32", bad}}),
              "InvalidRequest: Value for x-amz-checksum-crc32 header is invalid.");
  }
}

TEST(BodyPlans, have_an_md5_of_sixteen_bytes) {
  EXPECT_EQ(plan_of({{"content-md5", to_base64(std::string(16, 'm'))}})->md5, std::string(16, 'm'));
  for (const char* bad : {"", "AAAA", "no!"}) {
    EXPECT_EQ(refused_as({{"Content-MD5", bad}}), "InvalidDigest: ") << bad;
  }
  EXPECT_FALSE(plan_of({})->md5);
}

struct Read {
  std::string bytes;
  std::string code;  // of a refusal
  std::string message;
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
    read.message = taken.error().message;
    return read;
  }
  auto end = reader.finish();
  if (end) read.end = std::move(*end);
  if (!end) read.code = end.error().code;
  return read;
}

TEST(Bodies, plain_ones_are_as_long_as_was_said) {
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
  EXPECT_EQ(more.message, "More bytes came than were announced.");
  EXPECT_EQ(more.bytes, "1234");
  EXPECT_EQ(read_body({.payload = kUnsigned}, {"12"}).end.size, 2u) << "nothing was said";
}

TEST(Bodies, are_held_against_their_digests) {
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
  EXPECT_EQ(asked.end.checksum.value, "y/Q5Jg==") << "the client asks for it";
  // CRC-64/XZ, 995dc9bbdf1939fa, of one that is quick.
  const Read quick = read_body({.payload = kUnsigned, .quick = true}, {"12345", "6789"});
  EXPECT_EQ(quick.end.md5, "");
  EXPECT_EQ(quick.end.crc, 0x995dc9bbdf1939fau);
  EXPECT_EQ(etag_of(quick.end, "0000000a00000001000000ff"), "995dc9bbdf1939fa0000000a000000ff-1");
}

TEST(Bodies, chunks_are_lines_and_bytes) {
  const auto chunks = [](const std::string& body, std::uint64_t length = 9) {
    return read_body({.payload = kChunks, .length = length}, {body});
  };
  EXPECT_EQ(chunks("9\r\n123456789\r\n0\r\n\r\n").bytes, "123456789");
  EXPECT_EQ(chunks("4;x=y\r\n1234\r\n5\n56789\n0\n\n").bytes, "123456789");
  EXPECT_EQ(chunks("4\r\n1234\r\n5\r\n56789\r\n0\r\n").code, "") << "no line behind the trailer";
  EXPECT_EQ(chunks("A\r\n123456789A\r\n0\r\n\r\n", 10).bytes, "123456789A") << "hexadecimal";
  EXPECT_EQ(chunks("9\r\n123456789\r\n").code, "IncompleteBody");
  EXPECT_EQ(chunks("9\r\n12345").code, "IncompleteBody");
  EXPECT_EQ(chunks("5\r\n12345\r\n0\r\n\r\n").code, "IncompleteBody");
  for (const char* bad : {"\r\n", "x\r\n", "5x\r\n", ";a\r\n", "-5\r\n"}) {
    EXPECT_EQ(chunks(bad).message, "The size of a chunk is malformed.") << bad;
  }
  EXPECT_EQ(chunks("4\r\n12345\r\n").message, "A chunk does not end where it should.");
  EXPECT_EQ(chunks("9\r\n123456789\r\n0\r\n\r\nmore\r\n").message,
            "Bytes came after the end of the body.");
  EXPECT_EQ(chunks("9;" + std::string(4094, 'x') + "\r\n123456789\r\n0\r\n\r\n").message,
            "A chunk's head is too long.");
  EXPECT_EQ(chunks("9;" + std::string(4094, 'x') + "\n123456789\r\n0\r\n\r\n").code, "");
}

TEST(Bodies, a_trailer_is_read_line_by_line_and_is_not_endless) {
  const auto trailed = [](const std::string& trailer) {
    return read_body(
        {.payload = kChunks, .length = 9, .sum = SumKind::crc32, .sum_in_trailer = true},
        {"9\r\n123456789\r\n0\r\n" + trailer + "\r\n"});
  };
  EXPECT_EQ(trailed("a:b\r\nX-Amz-Checksum-CRC32 : y/Q5Jg== \r\nc\r\n").code, "");
  EXPECT_EQ(trailed("x-amz-checksum-crc32\r\n").code, "MalformedTrailerError") << "no value";
  EXPECT_EQ(trailed("x-amz-checksum-crc32:AAAA\r\n").code, "BadDigest");
  // 16384 bytes with the ends of their lines, and one more.
  std::string lines;
  for (int i = 0; i < 16; ++i) lines += std::string(1023, 'l') + "\n";
  EXPECT_EQ(read_body({.payload = kChunks, .length = 1}, {"1\r\n1\r\n0\r\n" + lines + "\r\n"}).code,
            "");
  EXPECT_EQ(
      read_body({.payload = kChunks, .length = 1}, {"1\r\n1\r\n0\r\nx" + lines + "\r\n"}).code,
      "MalformedTrailerError");
}

// From four mebibytes on a second thread digests pieces of 32 KiB or more; smaller ones come in
// between.
TEST(Bodies, large_ones_have_the_digests_of_all_their_bytes) {
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

TEST(HashLanes, do_one_piece_after_the_other) {
  std::vector<int> done;
  HashLane lane;
  lane.wait();  // nothing is under way
  for (int i = 0; i < 3; ++i) {
    lane.begin([&done, i] { done.push_back(i); });
    lane.wait();
    EXPECT_EQ(done.size(), static_cast<std::size_t>(i) + 1);
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
  {
    HashLane dropped;
    dropped.begin([&done] { done.push_back(9); });
  }
  EXPECT_LE(done.size(), 4u);
}

}  // namespace
}  // namespace orrery::s3server::body_tests
