#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CheckReservations, windows_must_fit_their_period_and_fleet) {
  const auto with = [](const std::string& fields, const std::string& kind = "slurm") {
    return plain_text_said("scheduler:\n  kind: " + kind +
                           "\n  quotas: [{ tenant: amy, share: 0.5 }]\n  reservations:\n    - { "
                           "name: r, start: 0 h, duration: " +
                           fields + " }\n");
  };
  EXPECT_THAT(with("23 h, repeat: daily, nodes: 8, tenants: [amy], fleet: all"), IsEmpty());
  EXPECT_THAT(with("24 h, repeat: daily"), ElementsAre("design.reservation at 24"));
  EXPECT_THAT(with("59 min, repeat: hourly"), IsEmpty());
  EXPECT_EQ(with("60 min, repeat: hourly").size(), 1U);
  EXPECT_THAT(with("167 h, repeat: weekly"), IsEmpty());
  EXPECT_EQ(with("168 h, repeat: weekly").size(), 1U);
  EXPECT_THAT(with("999 h"), IsEmpty());
  EXPECT_THAT(with("1 h, nodes: 9"), ElementsAre("design.reservation at 9"));
  EXPECT_THAT(with("1 h, fleet: al"), ElementsAre("design.unknown-name at al"));
  EXPECT_THAT(with("1 h, tenants: [ann]"), ElementsAre("design.unknown-name at [ann"));
  EXPECT_THAT(with("1 h", "kubernetes"), ElementsAre("design.reservation at {"));
  EXPECT_THAT(with("1 h }\n    - { name: r, start: 5 h, duration: 1 h"),
              ElementsAre("design.duplicate-name at r"));
}

TEST(CheckReservations, at_most_64_reservations) {
  const auto many = [](int count) {
    std::string list;
    for (int i = 0; i < count; ++i) {
      list += "    - { name: r" + std::to_string(i) + ", start: 0 h, duration: 1 h }\n";
    }
    return said_of(
        "orrery: 1\nname: t\nsite: { region: usa }\nfleet:\n  - { name: a, node: "
        "dgx-h100, count: 1 }\nscheduler:\n  reservations:\n" +
        list);
  };
  EXPECT_THAT(many(64), IsEmpty());
  EXPECT_THAT(many(65), ElementsAre("design.reservation at -"));
}

}  // namespace
}  // namespace orrery::design_text
