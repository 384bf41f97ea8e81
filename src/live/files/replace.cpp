#include "live/files/replace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "live/files/folder.h"

namespace orrery::files {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

bool sync_folder(const std::string& folder) {
  const OpenFile opened(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && ::fsync(opened.get()) == 0;
}

bool replace_at(int folder, const std::string& part, const std::string& name, mode_t mode,
                const std::function<bool(int)>& fill) {
  ::unlinkat(folder, part.c_str(), 0);
  const OpenFile file(
      ::openat(folder, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!file) return false;
  if (fill(file.get()) && ::fsync(file.get()) == 0 &&
      ::renameat(folder, part.c_str(), folder, name.c_str()) == 0) {
    return ::fsync(folder) == 0;
  }
  const int error = errno;
  ::unlinkat(folder, part.c_str(), 0);
  errno = error;
  return false;
}

bool replace_file(const std::string& path, std::string_view text, std::optional<mode_t> mode) {
  const std::filesystem::path whole(path);
  const std::string parent = whole.parent_path().string();
  const std::string name = whole.filename().string();
  const OpenFile folder(
      ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return false;
  struct stat old{};
  const bool keeps = !mode && ::fstatat(folder.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  return replace_at(folder.get(), name + ".new", name, mode.value_or(0666), [&](int file) {
    return write_all(file, text) && (!keeps || ::fchmod(file, old.st_mode & 0777) == 0);
  });
}

}  // namespace orrery::files
