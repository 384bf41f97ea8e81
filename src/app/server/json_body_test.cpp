#include "app/server/json_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string fault_of(const std::string& text) {
  const auto body = JsonBody::parse(text);
  return body ? "none" : body.error().front().code;
}

TEST(JsonBody, refuses_what_is_not_a_json_object) {
  EXPECT_EQ(fault_of("{}"), "none");
  for (const char* text :
       {"", "{", "[]", "1", "{\"a\":}", "{\"a\":1}}", "\xff", "nul", "{'a':1}"}) {
    EXPECT_EQ(fault_of(text), "body.json") << text;
  }
}

TEST(JsonBody, refuses_depth_before_the_parser_sees_it) {
  const auto nested = [](int levels) {
    return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(fault_of(nested(kJsonDepthMax - 1)), "none");
  EXPECT_EQ(fault_of(nested(kJsonDepthMax)), "body.depth");
  EXPECT_EQ(fault_of(nested(400'000)), "body.depth");
  EXPECT_EQ(fault_of("{\"a\":\"" + std::string(1000, '[') + "\\\"[\"}"), "none");
}

TEST(JsonBody, reads_every_kind_of_field) {
  auto body = JsonBody::parse(
      R"({"t":"text","c":"two","n":1.5,"i":7,"f":true,"l":["a","b"],"none":null,
          "o":{"x":3},"os":[{"x":1},{"x":2}],"v":{"a":"s","b":2,"c":0.5,"d":false}})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->text("t", 10), "text");
  EXPECT_EQ(body->choice("c", {"one", "two"}), "two");
  EXPECT_EQ(body->number("n", {0, 2}), 1.5);
  EXPECT_EQ(body->integer("i", {0, 10}), 7);
  EXPECT_EQ(body->optional_flag("f"), true);
  EXPECT_THAT(body->texts("l", 2, 5), ElementsAre("a", "b"));
  EXPECT_EQ(body->optional_text("none", 5), std::nullopt);
  EXPECT_EQ(body->optional_number("absent", {0, 1}), std::nullopt);
  std::vector<std::int64_t> seen;
  const auto see = [&seen](JsonBody& inner) { seen.push_back(inner.integer("x", {0, 9})); };
  EXPECT_TRUE(body->object("o", see));
  body->objects("os", 1, 3, see);
  EXPECT_THAT(seen, ElementsAre(3, 1, 2));
  const auto plain = body->plain_values("v", 5);
  EXPECT_EQ(plain.at("a") + plain.at("b") + plain.at("c") + plain.at("d"), "s20.5false");
  EXPECT_THAT(body->faults(), testing::IsEmpty());
}

TEST(JsonBody, collects_every_fault_and_names_the_field) {
  auto body = JsonBody::parse(
      R"({"t":1,"long":"abcdef","c":"three","n":"1","i":1.5,"far":99,"f":0,"l":["a",1],
          "o":{"x":-1},"os":[1],"v":{"a":[]},"tpyo":1})");
  ASSERT_TRUE(body);
  body->text("t", 5);
  body->text("long", 5);
  body->text("missing", 5);
  body->choice("c", {"one", "two"});
  body->number("n", {0, 1});
  body->integer("i", {0, 9});
  body->integer("far", {0, 9});
  body->optional_flag("f");
  body->texts("l", 5, 5);
  body->object("o", [](JsonBody& inner) { inner.integer("x", {0, 9}); });
  body->objects("os", 1, 2, [](JsonBody&) { FAIL(); });
  body->plain_values("v", 5);
  body->optional_text("typo", 5);
  std::string told;
  const Diagnostics faults = body->faults();
  for (const Diagnostic& d : faults) told += d.what + " [" + d.code + "] " + d.fix + '\n';
  EXPECT_EQ(faults.size(), 13U) << told;
  EXPECT_THAT(told, HasSubstr("`missing` is missing"));
  EXPECT_THAT(told, HasSubstr("`o.x` is not between 0 and 9"));
  EXPECT_THAT(told, HasSubstr("`tpyo` is not a field of this request [body.unknown] did you mean "
                              "`typo`?"));
}

TEST(JsonBody, whole_numbers_beyond_their_type_are_out_of_range) {
  auto body = JsonBody::parse(R"({"a":18446744073709551615,"b":1e300,"c":-9223372036854775808})");
  ASSERT_TRUE(body);
  body->integer("a", {0, 10});
  body->number("b", {0, 10});
  body->integer("c", {0, 10});
  EXPECT_EQ(body->faults().size(), 3U);
}

}  // namespace
}  // namespace orrery::server
