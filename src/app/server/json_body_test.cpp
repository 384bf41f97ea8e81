#include "app/server/json_body.h"

#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "app/server/fault_fixture.h"
#include "core/base/json_writer.h"
#include "live/agent/test_folder.h"

namespace orrery::server {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(JsonBody, bounds_are_inclusive) {
  auto body = JsonBody::parse(
      R"({"t":"12345","least":0,"most":9,"n":9.0,"l":["a","b"],"v":{"a":1,"b":2},"o":[{},{}]})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->text("t", 5), "12345");
  EXPECT_EQ(body->integer("least", {0, 9}), 0);
  EXPECT_EQ(body->integer("most", {0, 9}), 9);
  EXPECT_EQ(body->number("n", {0, 9}), 9);
  EXPECT_THAT(body->texts("l", 2, 5), testing::SizeIs(2));
  EXPECT_THAT(body->plain_values("v", 2), testing::SizeIs(2));
  int read = 0;
  body->objects("o", 2, 2, [&](JsonBody&) { ++read; });
  EXPECT_EQ(read, 2);
  EXPECT_THAT(body->faults(), testing::IsEmpty());
}

TEST(JsonBody, faults_have_the_full_path) {
  auto body = JsonBody::parse(R"({"a":{"b":{"c":1},"x":2},"l":[{"d":{"e":1}}]})");
  ASSERT_TRUE(body);
  body->object("a", [](JsonBody& a) { a.object("b", [](JsonBody& b) { b.text("c", 5); }); });
  body->objects("l", 1, 1, [](JsonBody& l) { l.object("d", [](JsonBody& d) { d.text("e", 5); }); });
  std::string messages;
  for (const Diagnostic& d : body->faults()) messages += d.what + '\n';
  EXPECT_THAT(messages, HasSubstr("`a.b.c`"));
  EXPECT_THAT(messages, HasSubstr("`a.x`"));
  EXPECT_THAT(messages, HasSubstr("`l[0].d.e` is not a text"));
}

// Brackets inside a text do not count, even with escaped quotes; those closed before do not either.
TEST(JsonBody, depth_is_that_of_the_deepest_value) {
  const auto fault = [](const std::string& text) {
    const auto body = JsonBody::parse(text);
    return body ? "none" : body.error().front().code;
  };
  const std::string deep(100, '['), ends(100, ']');
  EXPECT_EQ(fault(R"({"a":"\"[[)" + deep + "\"}"), "none");
  EXPECT_EQ(fault(R"({"a":"\\","b":)" + deep + ends + "}"), "body.depth");
  EXPECT_EQ(fault(R"({"a":)" + deep + ends + R"(,"b":[1]})"), "body.depth");
  EXPECT_EQ(fault("{\"a\":\"\xc3\x28\"}"), "body.json");
}

std::string fault_of(const std::string& text) {
  const auto body = JsonBody::parse(text);
  return body ? "none" : body.error().front().code;
}

TEST(JsonBody, other_than_an_object_is_refused) {
  EXPECT_EQ(fault_of("{}"), "none");
  for (const char* text :
       {"", "{", "[]", "1", "{\"a\":}", "{\"a\":1}}", "\xff", "nul", "{'a':1}"}) {
    EXPECT_EQ(fault_of(text), "body.json") << text;
  }
}

TEST(JsonBody, depth_is_checked_before_parsing) {
  const auto nested = [](int levels) {
    return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(fault_of(nested(kJsonDepthMax - 1)), "none");
  EXPECT_EQ(fault_of(nested(kJsonDepthMax)), "body.depth");
  EXPECT_EQ(fault_of(nested(400'000)), "body.depth");
  EXPECT_EQ(fault_of("{\"a\":\"" + std::string(1000, '[') + "\\\"[\"}"), "none");
}

TEST(JsonBody, every_kind_of_field_is_read) {
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

TEST(JsonBody, whole_numbers_beyond_their_type_are_out_of_range) {
  auto body = JsonBody::parse(R"({"a":18446744073709551615,"b":1e300,"c":-9223372036854775808})");
  ASSERT_TRUE(body);
  body->integer("a", {0, 10});
  body->number("b", {0, 10});
  body->integer("c", {0, 10});
  EXPECT_EQ(body->faults().size(), 3U);
}

std::vector<std::string> faults_of(JsonBody& body) {
  std::vector<std::string> all;
  for (const Diagnostic& d : body.faults()) {
    all.push_back(fault_text(d));
  }
  return all;
}

TEST(JsonBody, faults_of_single_values) {
  auto body = JsonBody::parse(
      R"({"t":1,"long":"abcdef","c":"three","k":2,"n":"1","m":3,"i":1.5,"far":10,"f":0})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->text("t", 5), "");
  EXPECT_EQ(body->text("long", 5), "");
  EXPECT_EQ(body->text("gone", 5), "");
  EXPECT_EQ(body->choice("c", {"one", "two"}), "one");
  EXPECT_EQ(body->choice("k", {"one", "two"}), "one");
  EXPECT_EQ(body->choice("away", {"two", "one"}), "two");
  EXPECT_EQ(body->number("n", {4, 5}), 4);
  EXPECT_EQ(body->number("m", {4.5, 5}), 4.5);
  EXPECT_EQ(body->number("lost", {6, 7}), 6);
  EXPECT_EQ(body->integer("i", {2, 9}), 2);
  EXPECT_EQ(body->integer("far", {3, 9}), 3);
  EXPECT_EQ(body->integer("left", {4, 9}), 4);
  EXPECT_EQ(body->optional_flag("f"), std::nullopt);
  EXPECT_THAT(faults_of(*body),
              ElementsAre("body.field t", "body.field long", "body.field gone", "body.field c",
                          "body.field k", "body.field away", "body.field n", "body.field m",
                          "body.field lost", "body.field i", "body.field far", "body.field left",
                          "body.field f"));
}

TEST(JsonBody, faults_of_lists_and_objects) {
  auto body = JsonBody::parse(
      R"({"l":["a",1,"long"],"m":{},"v":{"a":[],"b":null,"c":-3,"d":2.5,"e":true},"w":[],"o":7,
          "os":[{},1],"p":{"first":1,"unheard":2},"tpyo":1,"quite_other":2})");
  ASSERT_TRUE(body);
  EXPECT_THAT(body->texts("l", 3, 3), ElementsAre("a", "", ""));
  EXPECT_TRUE(body->texts("m", 3, 3).empty());
  EXPECT_TRUE(body->texts("no", 3, 3).empty());
  const auto plain = body->plain_values("v", 5);
  EXPECT_EQ(plain.size(), 3U);
  EXPECT_EQ(plain.at("c") + plain.at("d") + plain.at("e"), "-32.5true");
  EXPECT_TRUE(body->plain_values("w", 5).empty());
  EXPECT_FALSE(body->object("o", [](JsonBody&) { FAIL(); }));
  EXPECT_FALSE(body->object("nothing", [](JsonBody&) { FAIL(); }));
  body->objects("os", 1, 2, [](JsonBody&) { FAIL(); });
  body->objects("none", 1, 2, [](JsonBody&) { FAIL(); });
  EXPECT_TRUE(
      body->object("p", [](JsonBody& p) { EXPECT_EQ(p.optional_integer("first", {0, 1}), 1); }));
  EXPECT_EQ(body->optional_text("typo", 5), std::nullopt);
  EXPECT_THAT(faults_of(*body),
              ElementsAre("body.field l", "body.field l", "body.field m", "body.field v.a",
                          "body.field v.b", "body.field w", "body.field o", "body.field os",
                          "body.field none", "body.unknown p.unheard", "body.unknown quite_other",
                          "body.unknown tpyo"));
}

TEST(JsonBody, faults_of_other_bodies) {
  const auto said = [](const std::string& text) {
    const auto body = JsonBody::parse(text);
    if (body) return std::string("none");
    const Diagnostic& d = body.error().front();
    return fault_text(d);
  };
  EXPECT_EQ(said("\xff"), "body.json");
  EXPECT_EQ(said("{"), "body.json");
  EXPECT_EQ(said("[]"), "body.json");
  EXPECT_EQ(said(std::string(33, '[')), "body.depth");
  EXPECT_EQ(said(std::string(32, '[')), "body.json");
}

}  // namespace
}  // namespace orrery::server
