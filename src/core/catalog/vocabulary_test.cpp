#include "core/catalog/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "core/base/text.h"
#include "core/catalog/parts.h"
#include "core/catalog/policy_facts.h"

namespace orrery::catalog {
namespace {

using testing::UnorderedElementsAreArray;

template <class E>
class Vocabulary : public testing::Test {};

using Enumerations =
    testing::Types<Precision, Sharding, Recompute, Schedule, TopologyKind, RoutingKind, NetworkKind,
                   EvictionPolicy, Contract, Dtype, FactBasis, Confidence, EngineStatus>;
TYPED_TEST_SUITE(Vocabulary, Enumerations);

TYPED_TEST(Vocabulary, EveryWordIsReadBackAndFitsAFile) {
  for (const Word<TypeParam>& row : words_of(TypeParam{}).rows()) {
    EXPECT_EQ(from_word<TypeParam>(row.word), row.value);
    EXPECT_EQ(from_any_word<TypeParam>(row.other_or_word()), row.value);
    EXPECT_EQ(row.word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string_view::npos)
        << row.word;
  }
}

// The words between the brackets of the first `enum: [...]` after `key`.
std::vector<std::string> enum_in(const std::string& contract, const std::string& key) {
  const std::string lead = key + ": { type: string, enum: [";
  const auto at = contract.find(lead);
  if (at == std::string::npos) return {};
  const auto from = at + lead.size();
  std::vector<std::string> words;
  for (const auto word : split(contract.substr(from, contract.find(']', from) - from), ',')) {
    words.emplace_back(trimmed(word));
  }
  return words;
}

TEST(VocabularyOfTheApi, IsTheSame) {
  std::ifstream file(ORRERY_SOURCE_DIR "/docs/api/openapi.yaml");
  const std::string contract{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(enum_in(contract, "topology"), UnorderedElementsAreArray(word_list<TopologyKind>()));
  EXPECT_THAT(enum_in(contract, "Severity"), UnorderedElementsAreArray(word_list<Severity>()));
  EXPECT_THAT(enum_in(contract, "Basis"), UnorderedElementsAreArray(word_list<Basis>()));
}

}  // namespace
}  // namespace orrery::catalog
