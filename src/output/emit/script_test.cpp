#include "output/emit/script.h"

#include <gmock/gmock.h>

namespace orrery::emit {
namespace {

using testing::HasSubstr;

std::string faults_of(const Script& script) {
  const auto text = script.text();
  return text ? "" : to_text(text.error());
}

TEST(Script, only_places_are_replaced) {
  Script script =
      Script::from_text("#@stamp@\n  #@rows@\nfor i in \"${a[@]}\"; do @what@@n@; done");
  script.stamp({.design = "d"})
      .word("what", "echo")
      .number("n", -3)
      .lines("rows", {Script::from_text("x=@v@\n").word("v", "a b"), Script::from_text("y\n")});
  const auto text = script.text();
  ASSERT_TRUE(text) << to_text(text.error());
  EXPECT_TRUE(text->starts_with("# orrery-emit: design \"d\"")) << *text;
  EXPECT_TRUE(text->ends_with("\nx='a b'\ny\nfor i in \"${a[@]}\"; do echo-3; done")) << *text;
}

TEST(Script, an_empty_list_of_lines_leaves_nothing) {
  EXPECT_EQ(Script::from_text("a\n#@rows@\nb\n").lines("rows", {}).text().value(), "a\nb\n");
  EXPECT_EQ(Script::from_text("(@w@)").words("w", {}).text().value(), "()");
}

TEST(Script, a_value_opens_no_place_and_no_line) {
  EXPECT_EQ(Script::from_text("@a@ @b@").word("a", "@b@").number("b", 1).text().value(), "'@b@' 1");
  EXPECT_EQ(Script::from_text("# @a@\n").remark("a", "x\nrm y\r").text().value(), "# xrm y\n");
  EXPECT_EQ(Script::from_text("x=@a@").words("a", {"$(b)", "c'd"}).text().value(),
            "x='$(b)' 'c'\\''d'");
}

TEST(Script, script_and_values_must_agree) {
  EXPECT_THAT(faults_of(Script::from_text("x=@a@")), HasSubstr("'a'"));
  EXPECT_THAT(faults_of(Script::from_text("x").number("a", 1)), HasSubstr("'a'"));
  EXPECT_THAT(faults_of(Script::from_text("@a@").number("a", 1).number("a", 2)), HasSubstr("'a'"));
  // A value cannot fill a place for lines, and lines cannot fill a place for a value.
  EXPECT_THAT(faults_of(Script::from_text("#@a@\n").number("a", 1)), HasSubstr("'a'"));
  EXPECT_THAT(faults_of(Script::from_text("x=@a@").lines("a", {})), HasSubstr("'a'"));
  EXPECT_THAT(faults_of(Script::from_text("#@a@\n").lines("a", {Script::from_text("@b@")})),
              HasSubstr("'b'"));
  EXPECT_NE(faults_of(Script::from_file("emit/slurm/absent.sh")), "");
}

}  // namespace
}  // namespace orrery::emit
