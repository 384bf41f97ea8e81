// The systemd units of the package: what an attacker who has taken over a service could do to the
// machine, as scored by `systemd-analyze security` (0 to 10), and that the units are valid.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr double kExposureMax = 3.0;

std::string answer_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> piece;
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) {
    text.append(piece.data(), got);
  }
  ::pclose(pipe);
  return text;
}

TEST(Units, every_service_is_exposed_at_three_or_less) {
  if (std::system("command -v systemd-analyze > /dev/null") != 0) {
    GTEST_SKIP() << "systemd-analyze is not installed";
  }
  int services = 0;
  for (const auto& entry : fs::directory_iterator(ORRERY_SOURCE_DIR "/packaging/systemd")) {
    const std::string text =
        answer_of("systemd-analyze security --no-pager --offline=true " + entry.path().string());
    const std::string words = "Overall exposure level for " + entry.path().filename().string();
    const std::size_t at = text.find(words);
    ASSERT_NE(at, std::string::npos) << text;
    const double exposure = std::strtod(text.c_str() + at + words.size() + 2, nullptr);
    EXPECT_GT(exposure, 0) << entry.path();
    EXPECT_LE(exposure, kExposureMax) << entry.path();
    ++services;
  }
  EXPECT_GE(services, 4);
}

}  // namespace
}  // namespace orrery
