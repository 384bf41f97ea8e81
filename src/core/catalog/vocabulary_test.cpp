#include "core/catalog/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/estimate.h"
#include "core/base/text.h"

namespace orrery::catalog {
namespace {

using testing::UnorderedElementsAreArray;

// Returns the words between the brackets of the first `enum: [...]` after `key`.
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

TEST(VocabularyOfTheApi, api_vocabulary_matches_the_catalog) {
  std::ifstream file(ORRERY_SOURCE_DIR "/docs/api/openapi.yaml");
  const std::string contract{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(enum_in(contract, "topology"), UnorderedElementsAreArray(word_list<TopologyKind>()));
  EXPECT_THAT(enum_in(contract, "Severity"), UnorderedElementsAreArray(word_list<Severity>()));
  EXPECT_THAT(enum_in(contract, "Basis"), UnorderedElementsAreArray(word_list<Basis>()));
}

}  // namespace
}  // namespace orrery::catalog
