// Addresses, names and keys letter by letter: the first and the last of each range that is taken,
// and what stands right beside them.
#include <gtest/gtest.h>

#include "live/s3/checksum.h"
#include "live/s3/client.h"
#include "live/s3/receiver.h"
#include "live/s3/sigv4.h"
#include "live/s3/xml.h"

namespace orrery::s3::addresses_tests {
namespace {

// All bytes for which it holds, in order.
template <class Holds>
std::string bytes_that(Holds holds) {
  std::string out;
  for (int byte = 1; byte < 256; ++byte) {
    if (holds(static_cast<char>(byte))) out += static_cast<char>(byte);
  }
  return out;
}
const std::string kLarge = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const std::string kSmall = "abcdefghijklmnopqrstuvwxyz";
const std::string kTens = "0123456789";

TEST(Addresses, an_endpoint_has_letters_digits_and_four_signs) {
  EXPECT_EQ(bytes_that([](char c) {
              return checked_endpoint(std::string("http://h") + c + "h").has_value();
            }),
            "-." + kTens + ":" + kLarge + "[]" + kSmall);
  EXPECT_EQ(checked_endpoint("https://h/").value(), "https://h");
  EXPECT_EQ(checked_endpoint("http://h///").value(), "http://h");
  EXPECT_FALSE(checked_endpoint("http:///"));
  EXPECT_FALSE(checked_endpoint(""));
}

TEST(Addresses, a_bucket_has_3_to_63_small_letters_digits_and_two_signs) {
  EXPECT_EQ(bytes_that(
                [](char c) { return parse_location(std::string("s3://b") + c + "b").has_value(); }),
            "-." + kTens + kSmall);
  for (const auto& [bytes, taken] : {std::pair{2u, false}, {3u, true}, {63u, true}, {64u, false}}) {
    const auto place = parse_location("s3://" + std::string(bytes, 'b'));
    EXPECT_EQ(place.has_value(), taken) << bytes;
    if (place) {
      EXPECT_EQ(place->bucket.size(), bytes);
      EXPECT_EQ(place->prefix, "");
    }
  }
}

TEST(Addresses, a_prefix_has_900_bytes_and_no_slash_behind) {
  const auto prefix = [](const std::string& text) {
    const auto place = parse_location("s3://pail/" + text);
    return place ? place->prefix : "refused";
  };
  EXPECT_EQ(prefix(""), "");
  EXPECT_EQ(prefix("a"), "a");
  EXPECT_EQ(prefix("a/b//"), "a/b");
  EXPECT_EQ(prefix("/a"), "/a");
  EXPECT_EQ(prefix(std::string(900, 'p')).size(), 900u);
  EXPECT_EQ(prefix(std::string(901, 'p')), "refused");
  EXPECT_EQ(prefix(std::string(900, 'p') + "/").size(), 900u) << "without its slash";
  EXPECT_EQ(prefix("\xff"), "refused");
}

// A fault shows the first 200 bytes of what was written.
TEST(Addresses, what_is_refused_is_shown_up_to_a_length) {
  const std::string text(300, '?');
  const auto endpoint = checked_endpoint(text);
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().front().place.file, text.substr(0, 200));
  EXPECT_EQ(endpoint.error().front().code, "s3.endpoint");
  const auto place = parse_location(text);
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().front().place.file, text.substr(0, 200));
  EXPECT_EQ(place.error().front().code, "s3.place");
  EXPECT_EQ(checked_endpoint("?").error().front().place.file, "?");
}

TEST(Addresses, keys_are_of_signs_that_can_be_seen) {
  for (const int which : {0, 1, 2}) {
    const std::string taken = bytes_that([which](char c) {
      const std::string odd(1, c);
      const char* names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"};
      return credentials_of([&](const char* name) {
               return std::string(name) == names[which] ? odd.c_str() : "k";
             })
          .has_value();
    });
    EXPECT_EQ(taken, bytes_that([](char c) { return c >= '!' && c <= '~'; })) << which;
  }
  const auto with = [](const char* access, const char* secret) {
    return credentials_of([=](const char* name) {
             const std::string wanted = name;
             return wanted == "AWS_ACCESS_KEY_ID"       ? access
                    : wanted == "AWS_SECRET_ACCESS_KEY" ? secret
                                                        : nullptr;
           })
        .has_value();
  };
  EXPECT_TRUE(with("a", "s"));
  EXPECT_FALSE(with("", "s"));
  EXPECT_FALSE(with("a", ""));
  EXPECT_FALSE(with("", ""));
}

TEST(Addresses, letters_digits_and_four_signs_stand_for_themselves) {
  EXPECT_EQ(bytes_that([](char c) { return uri_encoded(std::string(1, c), false).size() == 1; }),
            "-." + kTens + kLarge + "_" + kSmall + "~");
  EXPECT_EQ(bytes_that([](char c) { return uri_encoded(std::string(1, c), true).size() == 1; }),
            "-./" + kTens + kLarge + "_" + kSmall + "~");
  EXPECT_EQ(uri_encoded(std::string("\0\x0f\xf0", 3), false), "%00%0F%F0");
}

TEST(Addresses, base64_has_its_digits_and_its_padding) {
  EXPECT_EQ(
      bytes_that([](char c) { return from_base64(std::string("AAA") + c + "AAAA").has_value(); }),
      "+/" + kTens + kLarge + kSmall);
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("QQ=="), "A");
  EXPECT_EQ(from_base64("QUI="), "AB");
  EXPECT_EQ(from_base64("QUJD"), "ABC");
  EXPECT_EQ(from_base64("QUJDRA=="), "ABCD");
  EXPECT_EQ(from_base64("//79"), "\xff\xfe\xfd");
  for (const char* bad :
       {"Q", "QQ", "QQ=", "Q===", "====", "=QQQ", "QQ=Q", "QQ==QUJD", "QUI=QUJD"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
  const std::string_view longer = "QUJDRA==";
  for (const std::size_t bytes : {1u, 2u, 3u, 5u, 6u, 7u}) {
    EXPECT_FALSE(from_base64(longer.substr(0, bytes))) << "what lies behind is not looked at";
  }
  EXPECT_EQ(from_base64(longer.substr(0, 4)), "ABC");
}

TEST(Addresses, a_document_has_as_many_bytes_and_levels_as_it_may) {
  const std::string text = "<a><b>c</b></a>";  // 15 bytes, two levels
  EXPECT_TRUE(read_xml(text, {.bytes_max = 15}));
  const auto large = read_xml(text, {.bytes_max = 14});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().front().code, "xml.limit");
  EXPECT_TRUE(read_xml(text, {.depth_max = 2}));
  const auto deep = read_xml(text, {.depth_max = 1});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().front().code, "xml.limit");
  EXPECT_EQ(read_xml(text)->text_of("b"), "c");
  EXPECT_EQ(read_xml("<a>x<b>c</b>y</a>")->text, "") << "an element has children or text";
  EXPECT_EQ(write_xml({"a", "\r", {}}).find('\r'), std::string::npos);
}

TEST(Addresses, an_etag_is_an_md5_where_it_looks_like_one_and_nobody_enciphered) {
  const net::Reply plain;
  const std::string digits = "0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(etag_is_md5(plain, digits));
  EXPECT_FALSE(etag_is_md5(plain, digits.substr(1)));
  EXPECT_FALSE(etag_is_md5(plain, digits + "0"));
  EXPECT_FALSE(etag_is_md5(plain, digits.substr(1) + "g"));
  EXPECT_FALSE(etag_is_md5(plain, digits.substr(1) + "A"));
  net::Reply ours;
  ours.headers = {{"x-amz-server-side-encryption", "aws:kms"}};
  EXPECT_FALSE(etag_is_md5(ours, digits));
  ours.headers = {{"x-amz-server-side-encryption", "AES256"}};
  EXPECT_TRUE(etag_is_md5(ours, digits));
  EXPECT_EQ(crc_text(0x1a), "0000001a");
}

}  // namespace
}  // namespace orrery::s3::addresses_tests
