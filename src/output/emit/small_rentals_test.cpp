// Rented fleets of one machine and of several, with their spares; metrics inside other functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "output/emit/alerts.h"
#include "output/emit/review_fixture.h"
#include "output/emit/terraform.h"

namespace orrery::emit {
namespace {

using testing::ElementsAre;

std::string rented_machines(int count, int spares) {
  const auto r = reviewed(read_text(
      "orrery: 1\nname: t\nsite: { region: usa }\nfleet: [{ name: a, node: dgx-h100, count: " +
      std::to_string(count) + ", spares: " + std::to_string(spares) +
      ", rent: { provider: aws } }]\n"));
  const auto files = emit_terraform(*r->review, r->source);
  EXPECT_TRUE(files) << (files ? "" : to_text(files.error()));
  if (!files) return "";
  std::string all;
  for (const EmittedFile& f : *files) all += f.text;
  const std::size_t block = all.find("resource \"aws_instance\" \"a\"");
  const std::size_t at = all.find("count", block);
  return all.substr(at, all.find('\n', at) - at);
}

// A machine is a node, and so is a spare.
TEST(SmallRentals, SparesAreRentedToo) {
  EXPECT_THAT(rented_machines(1, 0), testing::EndsWith("= 1"));
  EXPECT_THAT(rented_machines(1, 1), testing::EndsWith("= 2"));
  EXPECT_THAT(rented_machines(1, 3), testing::EndsWith("= 4"));
  EXPECT_THAT(rented_machines(2, 1), testing::EndsWith("= 3"));
  EXPECT_THAT(rented_machines(5, 2), testing::EndsWith("= 7"));
}

TEST(SmallRentals, MetricsInsideFunctions) {
  EXPECT_THAT(selectors_of("sum(up)"), ElementsAre("up"));
  EXPECT_THAT(selectors_of("1 - avg(up{job='x'}) > group(up)"), ElementsAre("up{job='x'}", "up"));
  EXPECT_THAT(selectors_of("max(up2) + sum(upper) + count(orrery_x)"), ElementsAre("orrery_x"));
}

}  // namespace
}  // namespace orrery::emit
