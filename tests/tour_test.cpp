// The designs printed in the tour are as the tour says: one with two mistakes, two that are valid.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "model/design_text/read_design.h"

namespace orrery::design_text {
namespace {

std::vector<std::string> yaml_blocks(const std::string& page) {
  constexpr std::string_view kOpen = "```yaml\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(kOpen); at != std::string::npos; at = page.find(kOpen, at)) {
    at += kOpen.size();
    blocks.push_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

TEST(Tour, designs_are_as_described) {
  std::ifstream in(ORRERY_SOURCE_DIR "/docs/guide/tour.md");
  std::ostringstream page;
  page << in.rdbuf();
  const auto blocks = yaml_blocks(page.str());
  ASSERT_EQ(blocks.size(), 3u);
  const catalog::Catalog catalog = catalog::load_embedded_catalog().value();

  const auto wrong = read_design(blocks[0], catalog);
  ASSERT_FALSE(wrong);
  ASSERT_EQ(wrong.error().size(), 2u);
  EXPECT_EQ(wrong.error()[0].code, "design.unit-missing");
  EXPECT_EQ(wrong.error()[1].code, "design.unknown-part");
  EXPECT_TRUE(wrong.error()[1].fix.contains("`dgx-h100`"));
  for (const std::size_t i : {1u, 2u}) {
    const auto good = read_design(blocks[i], catalog);
    EXPECT_TRUE(good) << to_text(good.error());
  }
}

}  // namespace
}  // namespace orrery::design_text
