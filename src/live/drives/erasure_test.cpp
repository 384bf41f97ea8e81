// Erasure coding: any k of k + m blocks restore every block, and fewer do not.
#include "live/drives/erasure.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::drives::erasure_tests {
namespace {

TEST(Erasure, any_k_blocks_rebuild_every_other) {
  for (const ShardPlan plan :
       {ShardPlan{1, 2}, ShardPlan{2, 1}, ShardPlan{3, 2}, ShardPlan{4, 3}}) {
    std::vector<std::string> blocks;
    for (int i = 0; i < plan.data; ++i) {
      std::string block;
      for (int b = 0; b < 37; ++b) block += static_cast<char>(i * 91 + b * 7 + 1);
      blocks.push_back(block);
    }
    const std::vector<std::string_view> views(blocks.begin(), blocks.end());
    for (const std::string& parity : parity_of(plan, views)) blocks.push_back(parity);
    ASSERT_EQ(static_cast<int>(blocks.size()), plan.total());
    for (int mask = 0; mask < 1 << plan.total(); ++mask) {
      std::vector<std::optional<std::string>> left(blocks.size());
      int there = 0;
      for (int i = 0; i < plan.total(); ++i) {
        if ((mask >> i & 1) == 0) continue;
        left[static_cast<std::size_t>(i)] = blocks[static_cast<std::size_t>(i)];
        ++there;
      }
      for (int wanted = 0; wanted < plan.total(); ++wanted) {
        const bool has_it = (mask >> wanted & 1) != 0;
        const auto made = rebuilt_block(plan, left, wanted);
        if (there - (has_it ? 1 : 0) < plan.data) {
          EXPECT_FALSE(made) << mask << ' ' << wanted;
        } else {
          EXPECT_EQ(made, blocks[static_cast<std::size_t>(wanted)]) << mask << ' ' << wanted;
        }
      }
    }
  }
  EXPECT_TRUE(parity_of({3, 0}, std::vector<std::string_view>{"a", "b", "c"}).empty());
  // The blocks of a stripe have the same length; blocks of other lengths are not combined.
  const std::vector<std::optional<std::string>> odd = {std::nullopt, "ab", "abc"};
  EXPECT_FALSE(rebuilt_block({2, 1}, odd, 0));
}

}  // namespace
}  // namespace orrery::drives::erasure_tests
