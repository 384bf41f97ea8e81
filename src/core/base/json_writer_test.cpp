#include "core/base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/csv.h"
#include "core/base/simplex.h"
#include "core/base/text.h"

namespace orrery {
namespace {

TEST(JsonWriter, writes_shortest_numbers_and_escapes) {
  JsonWriter w(0);
  w.begin_object().field("a", 0.1).field("b", 3).field("c", "x\n\"").key("d");
  w.begin_array().value(true).null().begin_object().end_object().end_array().end_object();
  EXPECT_EQ(w.text(), R"({"a":0.1,"b":3,"c":"x\n\"","d":[true,null,{}]})");
}

TEST(JsonWriter, is_utf8_whatever_the_bytes) {
  const std::string good = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(json_escaped(good), '"' + good + '"');
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(json_escaped("caf\xe9!"), "\"caf" + bad + "!\"");  // Latin-1
  EXPECT_EQ(json_escaped("\xe2\x82"), '"' + bad + '"');        // truncated
  // The quote still ends the string.
  EXPECT_EQ(json_escaped("\xe2\x82\""), '"' + bad + "\\\"\"");
  EXPECT_EQ(json_escaped("\xed\xa0\x80|"), '"' + bad + "|\"");  // surrogate
  // Two bytes that begin no character.
  EXPECT_EQ(json_escaped("\xff\xfe"), '"' + bad + bad + '"');
  // One continuation byte too many.
  EXPECT_EQ(json_escaped("\xc3\xa9\x80z"), "\"\xc3\xa9" + bad + "z\"");
  JsonWriter w(0);
  w.begin_object().field("\x80", "\xf4\x90\x80\x80").end_object();
  EXPECT_TRUE(is_valid_utf8(w.text()));
  std::string every;  // two bytes of each kind, next to each other
  for (int a = 0; a < 256; ++a) {
    for (int b = 0x70; b < 256; b += 5) every += {static_cast<char>(a), static_cast<char>(b)};
  }
  EXPECT_TRUE(is_valid_utf8(json_escaped(every)));
}

TEST(JsonWriter, output_is_indented_and_nan_is_null) {
  JsonWriter w;
  w.begin_object().field("a", 1).key("b").begin_array().value(true).value(false);
  w.begin_object().field("c", std::nan("")).end_object().end_array();
  w.key("d").begin_array().end_array();
  w.field("e", std::numeric_limits<double>::infinity()).end_object();
  EXPECT_EQ(w.text(),
            "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    false,\n    {\n      \"c\": null\n    }\n"
            "  ],\n  \"d\": [],\n  \"e\": null\n}");
}

TEST(JsonWriter, four_byte_characters_are_kept) {
  EXPECT_EQ(json_escaped("\xf0\x9f\x98\x80"), "\"\xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_escaped("\\\r\t\x7f"), "\"\\\\\\r\\t\x7f\"");
}

TEST(JsonWriter, control_characters_are_escaped) {
  EXPECT_EQ(json_escaped(std::string("a\x01z\x1f\n")), "\"a\\u0001z\\u001f\\n\"");
  EXPECT_EQ(json_escaped(" "), "\" \"");
}

}  // namespace
}  // namespace orrery
