#include "live/files/path.h"

#include <gtest/gtest.h>

namespace orrery::files {
namespace {

TEST(Path, only_ordinary_names_below_the_folder_are_accepted) {
  for (const char* good : {"a", "a/b", ".hidden", "a..b", "...", "a b"}) {
    EXPECT_EQ(path_fault(good), "") << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("/a"), std::string(".."), std::string("a/../b"),
        std::string("./a"), std::string("a//b"), std::string("a/"), std::string("a\0b", 3),
        std::string(256, 'n'), std::string(4001, 'n')}) {
    EXPECT_NE(path_fault(bad), "") << bad.substr(0, 20);
  }
  std::string deep = "a";
  for (int i = 0; i < 100; ++i) deep += "/a";
  EXPECT_NE(path_fault(deep), "");
}

}  // namespace
}  // namespace orrery::files
