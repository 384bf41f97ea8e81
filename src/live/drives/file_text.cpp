#include "live/drives/file_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace orrery::drives {
namespace {

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return ::fsync(file) == 0;
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

bool sync_folder(const std::string& folder) {
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return false;
  const bool good = ::fsync(opened) == 0;
  ::close(opened);
  return good;
}

bool write_durably(const std::string& path, std::string_view text, int mode) {
  const std::string beside = path + ".new";
  const int file = ::open(beside.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode);
  if (file < 0) return false;
  const bool written = write_whole(file, text);
  ::close(file);
  if (!written || std::rename(beside.c_str(), path.c_str()) != 0) {
    ::unlink(beside.c_str());
    return false;
  }
  return sync_folder(std::filesystem::path(path).parent_path().string());
}

}  // namespace orrery::drives
