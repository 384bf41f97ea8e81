#include "layers/engines/block_pool.h"

#include <gtest/gtest.h>

namespace orrery::engines {
namespace {

Sequence block_owner(int prompt, std::uint64_t content, std::uint64_t shared = 0,
                     int shared_tokens = 0) {
  Sequence s;
  s.spec = {.prompt = prompt,
            .output = 9,
            .shared = shared,
            .shared_tokens = shared_tokens,
            .content = content};
  return s;
}

TEST(Blocks, blocks_are_counted_without_sharing) {
  BlockPool pool(5, 4, false);
  Sequence a = block_owner(9, 0), b = block_owner(9, 0);
  EXPECT_EQ(pool.blocks_of(8), 2);
  EXPECT_EQ(pool.blocks_of(9), 3);
  EXPECT_EQ(pool.cost(a, 9, 0), 3);
  EXPECT_TRUE(pool.allocate(a, 9));
  EXPECT_EQ(pool.cost(a, 12, 0), 0);
  EXPECT_EQ(pool.free_blocks(), 2);
  EXPECT_FALSE(pool.allocate(b, 9));
  EXPECT_EQ(b.blocks, 0);
  EXPECT_TRUE(pool.allocate(b, 8));
  EXPECT_EQ(pool.free_blocks(), 0);
  EXPECT_EQ(pool.check({a, b}), "");
  EXPECT_EQ(pool.check({a}), "blocks leaked");
  pool.release(a);
  EXPECT_EQ(pool.free_blocks(), 3);
  EXPECT_EQ(pool.cached_tokens(b), 0);
}

TEST(Blocks, named_blocks_are_found_while_held_and_after) {
  BlockPool pool(10, 4, true);
  Sequence a = block_owner(9, 7), b = block_owner(13, 7), other = block_owner(9, 8),
           nameless = block_owner(9, 0);
  ASSERT_TRUE(pool.allocate(a, 9));
  EXPECT_EQ(pool.cached_tokens(b), 8);
  EXPECT_EQ(pool.cached_tokens(other), 0);
  EXPECT_EQ(pool.cached_tokens(nameless), 0);
  EXPECT_EQ(pool.cost(b, 13, 8), 2) << "four blocks, two of which are held already";
  ASSERT_TRUE(pool.allocate(b, 13, 8));
  EXPECT_EQ(pool.free_blocks(), 5);
  EXPECT_EQ(pool.check({a, b}), "");
  pool.release(a);
  EXPECT_EQ(pool.free_blocks(), 6) << "two are held by the other";
  pool.release(b);
  EXPECT_EQ(pool.free_blocks(), 10);
  Sequence again = block_owner(13, 7);
  EXPECT_EQ(pool.cached_tokens(again), 12);
  EXPECT_EQ(pool.cost(again, 13, 12), 4) << "idle ones are taken from the free ones";
  EXPECT_EQ(pool.check({}), "");
}

// The prompt fills whole blocks. Its last token must be computed, so its last block does not count
// as found.
TEST(Blocks, last_token_is_always_computed) {
  BlockPool pool(10, 4, true);
  Sequence a = block_owner(8, 7), b = block_owner(8, 7), longer = block_owner(9, 7);
  pool.allocate(a, 8);
  EXPECT_EQ(pool.cached_tokens(b), 4);
  EXPECT_EQ(pool.cached_tokens(longer), 8);
}

// The queue of idle blocks: the oldest is reused first, and the beginnings of prompts last.
TEST(Blocks, beginnings_of_prompts_are_kept_longest) {
  BlockPool pool(4, 4, true);
  Sequence a = block_owner(13, 7);
  ASSERT_TRUE(pool.allocate(a, 13));
  pool.release(a);
  Sequence taker = block_owner(5, 0);
  ASSERT_TRUE(pool.allocate(taker, 5));
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7)), 8) << "the last two blocks are gone";
  Sequence more = block_owner(4, 0);
  ASSERT_TRUE(pool.allocate(more, 4));
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7)), 4);
}

TEST(Blocks, sharing_ends_at_the_last_full_shared_block) {
  BlockPool pool(20, 4, true);
  Sequence a = block_owner(13, 7, 3, 6);
  ASSERT_TRUE(pool.allocate(a, 13));
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7, 3, 6)), 12);
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 9, 3, 6)), 4)
      << "only the block within the shared part";
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7, 4, 6)), 0);
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7, 3, 7)), 4) << "the rest begins elsewhere";
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7)), 0);
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7, 0, 6)), 0) << "a part of its own";
  Sequence whole = block_owner(13, 5, 3, 8);
  ASSERT_TRUE(pool.allocate(whole, 13, 4));
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 6, 3, 8)), 8)
      << "a block that ends with the shared part";
}

// Answers have shared names only if the conversation continues.
TEST(Blocks, answers_are_found_in_conversations_only) {
  for (const bool talks : {false, true}) {
    BlockPool pool(20, 4, true);
    Sequence a = block_owner(6, 7);
    a.spec.talks = talks;
    ASSERT_TRUE(pool.allocate(a, 6));
    a.generated = 7;
    ASSERT_TRUE(pool.allocate(a, 13));
    Sequence next = block_owner(20, 7);
    next.spec.talks = talks;
    EXPECT_EQ(pool.cached_tokens(next), talks ? 12 : 4);
  }
}

// Two requests computed the same blocks at once: the name remains as long as one of the blocks
// does.
TEST(Blocks, blocks_of_one_name_replace_each_other) {
  BlockPool pool(6, 4, true);
  Sequence a = block_owner(5, 7), b = block_owner(5, 7), c = block_owner(5, 7);
  ASSERT_TRUE(pool.allocate(a, 5));
  ASSERT_TRUE(pool.allocate(b, 5));
  ASSERT_TRUE(pool.allocate(c, 5));
  EXPECT_EQ(pool.check({a, b, c}), "");
  for (Sequence* s : {&b, &a}) {
    pool.release(*s);
    Sequence taker = block_owner(8, 0);
    ASSERT_TRUE(pool.allocate(taker, 8));
    EXPECT_EQ(pool.cached_tokens(block_owner(5, 7)), 4);
  }
  pool.release(c);
  Sequence taker = block_owner(8, 0);
  ASSERT_TRUE(pool.allocate(taker, 8));
  EXPECT_EQ(pool.cached_tokens(block_owner(5, 7)), 0);
}

// Reused blocks are in the tier, in addition to what the device has.
TEST(Blocks, reused_blocks_go_to_the_tier) {
  BlockPool pool(3, 4, true, 10);
  Sequence a = block_owner(12, 7);
  ASSERT_TRUE(pool.allocate(a, 12));
  pool.release(a);
  EXPECT_EQ(pool.tier_tokens(block_owner(13, 7), 12), 0);
  Sequence taker = block_owner(8, 0);
  ASSERT_TRUE(pool.allocate(taker, 8));
  EXPECT_EQ(pool.cached_tokens(block_owner(13, 7)), 4);
  EXPECT_EQ(pool.tier_tokens(block_owner(13, 7), 4), 8);
  EXPECT_EQ(pool.tier_tokens(block_owner(12, 7), 4), 4) << "not the last token";
  EXPECT_EQ(pool.tier_tokens(block_owner(13, 8), 0), 0);
  BlockPool plain(3, 4, true);
  EXPECT_EQ(plain.tier_tokens(block_owner(13, 7), 0), 0);
}

}  // namespace
}  // namespace orrery::engines
