#include "app/server/once.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace orrery::server {
namespace {

TEST(Once, each_text_is_made_once) {
  OnceTexts texts;
  std::atomic<int> made = 0;
  std::atomic<bool> hold = true;
  const auto make = [&]() -> Result<std::string> {
    ++made;
    while (hold) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return "text";
  };
  using namespace std::chrono_literals;
  EXPECT_FALSE(texts.get("a", make, 5ms).has_value());
  EXPECT_FALSE(texts.get("a", make, 5ms).has_value());
  hold = false;
  EXPECT_EQ(**texts.get("a", make, 10s), "text");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(**texts.get("b", make, 10s), "text");
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace orrery::server
