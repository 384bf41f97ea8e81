// Files below tests/golden: output as a person last reviewed it.
//
// expect_golden() compares a text with a file and names the lines that differ. With UPDATE_GOLDEN=1
// in the environment it writes the file instead; the change is then reviewed as a diff.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace orrery {

inline std::filesystem::path golden_folder() {
  return std::filesystem::path(ORRERY_SOURCE_DIR) / "tests/golden";
}

// Returns the file's text; empty if it cannot be read.
inline std::string golden_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the .golden files of one folder, sorted; does not enter its subfolders.
inline std::vector<std::filesystem::path> golden_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".golden") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

// Returns the lines that differ, each with its number in the file; `-` is the file, `+` the new
// text.
inline std::string differing_lines(const std::string& golden, const std::string& now) {
  constexpr int kShown = 40;
  std::istringstream was(golden), is(now);
  std::string said, old_line, new_line;
  for (int number = 1, shown = 0; shown < kShown; ++number) {
    const bool has_old = static_cast<bool>(std::getline(was, old_line));
    const bool has_new = static_cast<bool>(std::getline(is, new_line));
    if (!has_old && !has_new) break;
    if (has_old && has_new && old_line == new_line) continue;
    if (has_old) said += std::to_string(number) + " - " + old_line + '\n';
    if (has_new) said += std::to_string(number) + " + " + new_line + '\n';
    ++shown;
  }
  return said;
}

inline void expect_golden(const std::filesystem::path& path, const std::string& now) {
  const std::string golden = golden_text(path);
  if (golden == now) return;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << now;
    return;
  }
  ADD_FAILURE() << path << " differs:\n"
                << differing_lines(golden, now)
                << "If the change is right, run this test with UPDATE_GOLDEN=1 and read the diff.";
}

}  // namespace orrery
