// For tests of this room: a folder "root" with two files, next to a folder "outside" that no call
// may reach.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "live/files/folder.h"
#include "live/files/tree.h"

namespace orrery::files {

class FilesFixture : public testing::Test {
 protected:
  FilesFixture() {
    std::string name = (std::filesystem::temp_directory_path() / "orrery-files-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
    std::filesystem::create_directories(at("root/sub"));
    write("root/a", "aa");
    write("root/sub/b", "bbb");
    write("outside/secret", "s");
  }
  ~FilesFixture() override { std::filesystem::remove_all(path_); }

  std::filesystem::path at(const std::string& below) const { return path_ / below; }
  void write(const std::string& below, const std::string& text) const {
    std::filesystem::create_directories(at(below).parent_path());
    std::ofstream(at(below)) << text;
  }
  std::string text(const std::string& below) const {
    std::ifstream file(at(below));
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  Folder root() const {
    auto folder = Folder::open(at("root"));
    EXPECT_TRUE(folder);
    return std::move(*folder);
  }
  template <class T>
  static std::string code(const Result<T>& done) {
    return done ? "good" : done.error().front().code;
  }
  // Returns "PATH: WHAT" for every oddity.
  static std::vector<std::string> odd(const Tree& tree) {
    std::vector<std::string> all;
    for (const Oddity& one : tree.odd) all.push_back(one.path + ": " + one.what);
    return all;
  }

  std::filesystem::path path_;
};

}  // namespace orrery::files
