// Connections fit into the files that a process may open.
#include "live/net/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace orrery::net::open_files_tests {
namespace {

TEST(OpenFiles, connections_fit_into_the_limit_of_the_process) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto fitting = [&](rlim_t files, int most) {
    const rlimit few{files, before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const int fit = connections_that_fit(most);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    return fit;
  };
  EXPECT_EQ(fitting(64, 512), 64 - kOtherFiles);
  EXPECT_EQ(fitting(1024, 512), 512);
  EXPECT_EQ(fitting(64, 8), 8);
  EXPECT_EQ(fitting(16, 512), kConnectionsLeast);
  EXPECT_EQ(fitting(16, 4), 4);
}

}  // namespace
}  // namespace orrery::net::open_files_tests
