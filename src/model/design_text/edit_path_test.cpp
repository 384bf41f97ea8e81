#include "model/design_text/edit_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::design_text {
namespace {

using testing::ElementsAre;

std::vector<std::string> steps(const std::string& path, const std::string& file) {
  Diagnostics faults;
  const auto tree = parse_yaml(file, "f", faults);
  const auto found = steps_of(path, *tree);
  std::vector<std::string> out;
  if (!found) return {"none"};
  for (const PathStep& s : *found) out.push_back(s.index ? std::to_string(*s.index) : s.key);
  out.push_back(text_of(*found));
  return out;
}

TEST(EditPath, path_is_keys_and_numbers_and_follows_the_file) {
  EXPECT_THAT(steps("a[0][12].b", "x: 1"), ElementsAre("a", "0", "12", "b", "a[0][12].b"));
  EXPECT_THAT(steps("fleet[1].mig.3g.71gb", "x: 1"),
              ElementsAre("fleet", "1", "mig", "3g.71gb", "fleet[1].mig.3g.71gb"));
  EXPECT_THAT(steps("sites[0].power", "site: {}"), ElementsAre("site", "power", "site.power"));
  EXPECT_THAT(steps("sites[1].power", "site: {}"),
              ElementsAre("sites", "1", "power", "sites[1].power"));
  EXPECT_THAT(steps("sites[0].power", "sites: []"),
              ElementsAre("sites", "0", "power", "sites[0].power"));
  EXPECT_THAT(steps("site.power", "sites: []"),
              ElementsAre("sites", "0", "power", "sites[0].power"));
  EXPECT_THAT(steps("site.power", "x: 1"), ElementsAre("site", "power", "site.power"));
  EXPECT_THAT(steps("sites", "site: {}"), ElementsAre("sites", "sites"));
  std::string deep = "a";
  for (int i = 0; i < 31; ++i) deep += ".a";
  EXPECT_EQ(steps(deep, "x: 1").size(), 33u);
  EXPECT_THAT(steps(deep + ".a", "x: 1"), ElementsAre("none"));
}

}  // namespace
}  // namespace orrery::design_text
