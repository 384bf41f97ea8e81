#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/design_text/said_fixture.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CheckMarking, ecn_marks_must_grow_and_watchdog_times_need_a_watchdog) {
  const auto with = [](const std::string& network, const std::string& roce) {
    return plain_text_said("fabric:\n  " + network + ": { topology: fat-tree, roce: { " + roce +
                           " } }\n");
  };
  for (const char* network : {"compute", "storage"}) {
    EXPECT_THAT(with(network, "ecn_kmin: 100 kB, ecn_kmax: 101 kB"), IsEmpty());
    EXPECT_THAT(with(network, "ecn_kmin: 100 kB, ecn_kmax: 100 kB"),
                ElementsAre("design.range at 100"));
    EXPECT_THAT(with(network, "watchdog_time: 200 ms"), ElementsAre("design.watchdog at 200"));
    EXPECT_THAT(with(network, "watchdog_time: 200 ms, pfc_watchdog: true"), IsEmpty());
  }
}

}  // namespace
}  // namespace orrery::design_text
