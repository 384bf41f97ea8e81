#include "study/score/log_standing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/machine/known_fixture.h"
#include "study/score/rows_fixture.h"

namespace orrery::score {
namespace {

TEST(LogStanding, a_log_is_compared_at_each_size) {
  const catalog::Accelerator& h100 = *machine::known().catalog().accelerator("h100-sxm");
  EXPECT_EQ(domain_of_host(h100, 8), 8);
  EXPECT_EQ(domain_of_host(h100, 4), 4);
  EXPECT_EQ(domain_of_host(*machine::known().catalog().accelerator("gb200"), 4), 72);
  const machine::Wiring wiring{.accelerator = &h100,
                               .domain = 8,
                               .accelerators_per_host = 8,
                               .nics_per_host = 8,
                               .nic_rate = gbits_per_s(400),
                               .network = catalog::NetworkKind::infiniband};
  fabric::NcclLog log{.kind = workload::Collective::all_reduce};
  log.lines = {
      {.bytes = 0, .time_us = 10}, {.bytes = 1e6, .time_us = 1e9}, {.bytes = 1e9, .time_us = 1}};
  const LogStanding s = stand_log(log, 16, wiring, machine::known().collectives);
  ASSERT_EQ(s.lines.size(), 2U);
  EXPECT_TRUE(s.lines[0].slow());
  EXPECT_TRUE(s.lines[1].fast());
  EXPECT_LT(s.lines[0].expected.seconds.value, s.lines[1].expected.seconds.value);
  // Ten times slower than expected at every size has a reason; as expected it has none.
  fabric::NcclLog slow = log, fine = log;
  slow.lines.clear(), fine.lines.clear();
  for (const LogLine& line : s.lines) {
    const double us = line.expected.seconds.value * 1e6;
    fine.lines.push_back({.bytes = line.measured.bytes, .time_us = us});
    slow.lines.push_back({.bytes = line.measured.bytes, .time_us = 10 * us});
  }
  EXPECT_TRUE(stand_log(fine, 16, wiring, machine::known().collectives).reasons.empty());
  EXPECT_FALSE(stand_log(slow, 16, wiring, machine::known().collectives).reasons.empty());
}

}  // namespace
}  // namespace orrery::score
