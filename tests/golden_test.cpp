// Runs the commands of tests/golden/*.golden and compares what they print, byte for byte.
//
// templates_test.cpp uses the files named templates_*, and fixes_test.cpp those in rules/. A golden
// file of commands has command lines, each followed by its output, and by its exit code if that is
// not 0. Lines that start with '#' before the first command say what the file shows:
//
//   # A misspelt command.
//   $ orrery plna x.yaml 2>&1
//   orrery: unknown command 'plna'
//   [exit 2]
//
// sh runs the commands in the root of the repository, with the built orrery first in PATH.
// UPDATE_GOLDEN=1 rewrites the files; the change is then reviewed as a diff.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include "golden_file.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

// A fixed list, because a line of output may itself begin with "$ ".
constexpr std::array<std::string_view, 4> kPrompts = {"$ orrery", "$ printf", "$ head",
                                                      "$ timeout"};

bool is_command(std::string_view line) {
  return std::ranges::any_of(kPrompts,
                             [line](std::string_view prompt) { return line.starts_with(prompt); });
}

struct GoldenFile {
  fs::path path;
};

// ctest shows this as the name of the test.
void PrintTo(const GoldenFile& file, std::ostream* out) { *out << file.path.stem().string(); }

std::vector<GoldenFile> command_files() {
  std::vector<GoldenFile> files;
  for (const fs::path& path : golden_files(golden_folder())) {
    if (!path.filename().string().starts_with("templates_")) files.push_back({path});
  }
  return files;
}

std::string output_of(const std::string& command) {
  const std::string line = std::string("cd '") + ORRERY_SOURCE_DIR + "' && PATH='" +
                           ORRERY_BINARY_DIR + "':$PATH && " + command;
  FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return "[cannot start sh]\n";
  std::string out;
  std::array<char, 4096> chunk;
  while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    out.append(chunk.data(), got);
  }
  const int status = ::pclose(pipe);
  if (!out.empty() && out.back() != '\n') out += "\n[no newline at the end]\n";
  if (WIFSIGNALED(status)) return out + "[signal " + std::to_string(WTERMSIG(status)) + "]\n";
  if (WEXITSTATUS(status) != 0) out += "[exit " + std::to_string(WEXITSTATUS(status)) + "]\n";
  return out;
}

// Returns the golden text with the present output of its commands.
std::string replayed(const std::string& golden) {
  std::istringstream lines(golden);
  std::string out;
  std::string line;
  bool in_preamble = true;
  while (std::getline(lines, line)) {
    if (is_command(line)) {
      in_preamble = false;
      out += line + '\n' + output_of(line.substr(2));
    } else if (in_preamble) {
      out += line + '\n';
    }
  }
  return out;
}

class Golden : public testing::TestWithParam<GoldenFile> {};

TEST_P(Golden, output_matches_the_golden_file) {
  const std::string golden = golden_text(GetParam().path);
  ASSERT_NE(golden.find("\n$ "), std::string::npos) << "no command in " << GetParam().path;
  expect_golden(GetParam().path, replayed(golden));
}

INSTANTIATE_TEST_SUITE_P(files, Golden, testing::ValuesIn(command_files()));

}  // namespace
}  // namespace orrery
