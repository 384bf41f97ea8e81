#include "output/emit/yaml_writer.h"

#include <gtest/gtest.h>

#include "output/emit/hcl_writer.h"

namespace orrery::emit {
namespace {

TEST(YamlWriter, unambiguous_text_is_not_quoted) {
  for (const char* plain : {"a", "z", "A", "Z", "a0", "a9", "a_b.c/d-e", "trues", "yesno"}) {
    EXPECT_EQ(yaml_text(plain), plain);
  }
  for (const char* word : {"true", "False", "YES", "no", "on", "Off", "null", "y", "N", "NaN", "",
                           "0a", "_a", "a b", "a:", "a{", "a@", "a[", "a`"}) {
    EXPECT_EQ(yaml_text(word), '"' + std::string(word) + '"');
  }
}

TEST(YamlWriter, maps_lists_and_documents) {
  YamlWriter y;
  y.text("name", "a b").number("n", -3).decimal("d", 0.123456).flag("yes", true).flag("f", false);
  y.begin("map").blank("none").texts("list", {"a", "1"}).texts("empty", {});
  y.block("script", "one\ntwo\n\n").comment("why").end();
  y.begin("items").item().text("a", "b").number("c", 1).end_item().end().document();
  EXPECT_EQ(y.result(),
            "name: \"a b\"\n\"n\": -3\nd: 0.1235\n\"yes\": true\nf: false\n"
            "map:\n  none: {}\n  list: [a, \"1\"]\n  empty: []\n"
            "  script: |\n    one\n    two\n  # why\n"
            "items:\n  - a: b\n    c: 1\n---\n");
}

}  // namespace
}  // namespace orrery::emit
