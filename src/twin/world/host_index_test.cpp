// What queues and timers carry about a process and a host.
#include "twin/world/host_index.h"

#include <gtest/gtest.h>

#include <numeric>

namespace orrery::world {

namespace {

TEST(HostIndex, a_tag_keeps_its_process_and_part) {
  const JobTag tag{ProcessIndex(7), 0xffffffff};
  EXPECT_EQ(JobTag::from(tag.packed()), tag);
  EXPECT_NE(JobTag::from(tag.packed() + 1), tag);
}

}  // namespace
}  // namespace orrery::world
