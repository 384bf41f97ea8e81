#include "study/score/collectives_fit.h"

#include <gtest/gtest.h>

#include "core/catalog/embedded_table.h"
#include "model/machine/known_fixture.h"

namespace orrery::score {
namespace {

ScoreSummary of_size(const Score& score, std::string_view group) {
  for (const GroupSummary& g : groups_of_series(score.series[0])) {
    if (g.name == group) return g.summary;
  }
  return {};
}

TEST(CollectivesFit, SystemsGoByTheirFirstTwoWords) {
  EXPECT_EQ(system_of("AWS p6-b200 1 node"), system_of("AWS p6-b200 partial"));
  EXPECT_NE(system_of("AWS p5.48xlarge"), system_of("AWS p6-b200 partial"));
  EXPECT_EQ(system_of("one"), "one");
}

// The gate: rows of systems that the fit has not seen.
TEST(CollectivesFit, LeftOutBySystem) {
  const auto table = catalog::embedded_table("validation/collectives.csv");
  ASSERT_TRUE(table.has_value());
  const auto score = score_collectives_held_out(*table, {machine::known(), nullptr});
  ASSERT_TRUE(score.has_value());
  const ScoreSummary large = of_size(*score, "size=from 64 MiB");
  const ScoreSummary small = of_size(*score, "size=below 64 MiB");
  EXPECT_LE(large.median_ape, 0.06);
  EXPECT_LE(small.median_ape, 0.16);
  for (const ScoreSummary& s : {large, small}) {
    EXPECT_GE(s.coverage, 0.72);
    EXPECT_LE(s.coverage, 0.88);
  }
}

// What the fit gives is a file that can be read; what these rows say nothing of stays at its prior.
TEST(CollectivesFit, WritesTheFile) {
  std::string some;
  const std::string all = catalog::embedded_text("validation/collectives.csv").value();
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size() - 1) + 1;
    const std::string line = all.substr(at, end - at);
    const bool wanted = line.find("a3-megagpu") != line.npos || line.find("DGX Cloud") != line.npos;
    if (at == 0 || wanted) some += line;
    at = end;
  }
  const auto table = CsvTable::parse(some, "some.csv");
  ASSERT_TRUE(table.has_value());
  const auto text = fitted_collectives(*table, {machine::known(), nullptr});
  ASSERT_TRUE(text.has_value());
  const auto written = CsvTable::parse(*text, "collectives.csv");
  ASSERT_TRUE(written.has_value());
  const auto read = fabric::read_collective_parameters(*written);
  ASSERT_TRUE(read.has_value());
  EXPECT_NEAR(read->network(catalog::NetworkKind::tcpxo).curve.latency.base(), 60e-6, 15e-6);
  EXPECT_NEAR(read->scaleup("NVLink3").curve.launch.base(), 16e-6, 1e-9);
  EXPECT_EQ(read->scaleup("NVLink3").curve.nvls_share, 0);
}

}  // namespace
}  // namespace orrery::score
