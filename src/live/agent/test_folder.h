// For tests that write files: a temporary folder per test, removed at its end.
//
// mkdtemp makes the name unique among concurrent tests. If it fails, the test ends with an
// exception: it must not continue and write elsewhere.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace orrery::agent {

class TestFolder {
 public:
  explicit TestFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : path_((parent / "orrery-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), path_);
    }
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string at(std::string_view below) const { return path_ + '/' + std::string(below); }

  // Creates the folders above the file.
  void write(std::string_view below, std::string_view text) const {
    const std::filesystem::path file = at(below);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  // For keys: only the owner can read the file.
  void write_secret(std::string_view below, std::string_view text) const {
    write(below, text);
    using std::filesystem::perms;
    std::filesystem::permissions(at(below), perms::owner_read | perms::owner_write);
  }

 private:
  std::string path_;
};

// The folder for measuring a disk: ORRERY_PROBE_FOLDER, if the temporary folder is in memory.
inline std::filesystem::path folder_on_disk() {
  const char* chosen = std::getenv("ORRERY_PROBE_FOLDER");
  return chosen != nullptr ? std::filesystem::path(chosen) : std::filesystem::temp_directory_path();
}

}  // namespace orrery::agent
