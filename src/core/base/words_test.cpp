#include "core/base/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Fruit { apple, pear, plum };
constexpr Word<Fruit> kFruitWords[] = {
    {Fruit::apple, "apple"}, {Fruit::pear, "pear", "poire"}, {Fruit::plum, "plum"}};
constexpr WordTable<Fruit> words_of(Fruit) { return kFruitWords; }

TEST(Words, values_and_words_round_trip) {
  for (const Fruit f : {Fruit::apple, Fruit::pear, Fruit::plum}) {
    EXPECT_EQ(from_word<Fruit>(word_of(f)), f);
    EXPECT_EQ(from_any_word<Fruit>(word_of(f)), f);
    EXPECT_EQ(from_any_word<Fruit>(other_word_of(f)), f);
  }
  EXPECT_EQ(word_of(Fruit::pear), "pear");
  EXPECT_EQ(other_word_of(Fruit::pear), "poire");
  EXPECT_EQ(other_word_of(Fruit::plum), "plum");
}

TEST(Words, second_spelling_is_read_only_on_request) {
  EXPECT_EQ(from_word<Fruit>("poire"), std::nullopt);
  EXPECT_EQ(from_any_word<Fruit>("poire"), Fruit::pear);
  EXPECT_EQ(from_any_word<Fruit>("Pear"), std::nullopt);
  EXPECT_EQ(from_any_word<Fruit>(""), std::nullopt);
}

TEST(Words, words_are_listed_in_enumeration_order) {
  EXPECT_THAT(word_list<Fruit>(), ElementsAre("apple", "pear", "plum"));
  EXPECT_EQ(listed(word_list<Fruit>()), "apple, pear, plum");
}

// These are the checks that also fail a build.
TEST(Words, bad_tables_are_detected) {
  using Rows = std::vector<Word<Fruit>>;
  const auto fault = [](const Rows& rows) {
    return std::string(words_fault(std::span<const Word<Fruit>>(rows)));
  };
  EXPECT_EQ(fault({{Fruit::apple, "apple"}, {Fruit::pear, "pear"}, {Fruit::plum, "plum"}}), "");
  EXPECT_THAT(fault({{Fruit::apple, "apple"}, {Fruit::plum, "plum"}}), HasSubstr("missing"));
  EXPECT_THAT(fault({{Fruit::pear, "pear"}, {Fruit::apple, "apple"}}), HasSubstr("order"));
  EXPECT_THAT(fault({{Fruit::apple, ""}}), HasSubstr("no word"));
  EXPECT_THAT(fault({{Fruit::apple, "a"}, {Fruit::pear, "a"}}), HasSubstr("two values"));
  EXPECT_THAT(fault({{Fruit::apple, "a", "b"}, {Fruit::pear, "b"}}), HasSubstr("two values"));
  EXPECT_THAT(fault({{Fruit::apple, "a"}, {Fruit::pear, "b", "a"}}), HasSubstr("two values"));
}

}  // namespace
}  // namespace orrery
