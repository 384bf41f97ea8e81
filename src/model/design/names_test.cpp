#include "model/design/names.h"

#include <gtest/gtest.h>

namespace orrery::design {
namespace {

template <class E>
class Names : public testing::Test {};

using Sets = testing::Types<Partition, NamedTopology, Protocol, Tier, TierKind, SchedulerKind,
                            Backfill, PlacementTopology, Preemption, CheckpointMode, DataKind,
                            DataFormat, EmbeddingPlacement, Comparison>;
TYPED_TEST_SUITE(Names, Sets);

TYPED_TEST(Names, EveryWordIsReadBack) {
  for (const std::string_view word : word_list<TypeParam>()) {
    const auto value = from_word<TypeParam>(word);
    ASSERT_TRUE(value) << word;
    EXPECT_EQ(word_of(*value), word);
  }
}

// A name that is a generator's own means that generator and nothing more.
TEST(NamedTopologies, ANameSharedWithAGeneratorMeansIt) {
  for (const Word<NamedTopology>& row : words_of(NamedTopology{}).rows()) {
    const auto generator = from_word<catalog::TopologyKind>(row.word);
    if (!generator) continue;
    const TopologyTerms terms = topology_terms(row.value);
    EXPECT_EQ(terms.kind, *generator) << row.word;
    EXPECT_EQ(terms.tiers, 0) << row.word;
    EXPECT_EQ(terms.planes, 1) << row.word;
  }
}

TEST(NamedTopologies, TheOthersSetItsParameters) {
  EXPECT_EQ(topology_terms(NamedTopology::three_tier).kind, catalog::TopologyKind::rail_fat_tree);
  EXPECT_EQ(topology_terms(NamedTopology::three_tier).tiers, 3);
  EXPECT_EQ(topology_terms(NamedTopology::twin_plane).kind, catalog::TopologyKind::rail_fat_tree);
  EXPECT_EQ(topology_terms(NamedTopology::twin_plane).planes, 2);
  EXPECT_EQ(topology_terms(NamedTopology::nvl72).kind, catalog::TopologyKind::scale_up);
}

}  // namespace
}  // namespace orrery::design
