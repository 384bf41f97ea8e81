#include "core/base/index.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

namespace orrery {
namespace {

using FirstIndex = Index<struct FirstTag>;
using SecondIndex = Index<struct SecondTag>;

TEST(Index, is_no_number_and_no_index_of_another_list) {
  static_assert(!std::is_convertible_v<std::size_t, FirstIndex>);
  static_assert(!std::is_convertible_v<FirstIndex, std::size_t>);
  static_assert(!std::is_constructible_v<FirstIndex, SecondIndex>);
  EXPECT_EQ(FirstIndex(3).value(), 3u);
  EXPECT_LT(FirstIndex(2), FirstIndex(3));
}

TEST(Index, opens_its_own_vector) {
  IndexedVector<FirstIndex, std::string> names;
  const FirstIndex a = names.push_back("a");
  const FirstIndex b = names.push_back("b");
  EXPECT_EQ(names[a], "a");
  EXPECT_EQ(names[b], "b");
  std::string all;
  for (const FirstIndex i : names.indices()) all += names[i];
  EXPECT_EQ(all, "ab");
  EXPECT_TRUE(names.has(b));
  EXPECT_FALSE(names.has(FirstIndex(2)));
}

}  // namespace
}  // namespace orrery
