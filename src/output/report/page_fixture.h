// For tests of pages in docs/ that the reports write.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "output/report/explain_report.h"

namespace orrery::report {

inline std::string page(const std::string& path) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void expect_page(const std::string& path, const std::string& printed) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(std::string(ORRERY_SOURCE_DIR) + "/" + path, std::ios::binary) << printed;
    return;
  }
  EXPECT_TRUE(page(path) == printed)
      << path
      << " is not what the tool prints; UPDATE_GOLDEN=1 rewrites it, to be reviewed as a diff";
}

}  // namespace orrery::report
