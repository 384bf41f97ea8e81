#include "app/cli/emit_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "app/cli/terminal.h"
#include "core/base/text.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kTemporary = ".orrery-tmp-";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept { return std::swap(fd_, o.fd_), *this; }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<Diagnostics> failed(const std::string& file, std::string_view doing, int error) {
  const bool link = error == ELOOP || error == ENOTDIR;
  return fail({.code = link ? "emit.link" : "emit.file",
               .place = {file, 0, 0},
               .what = fmt::format("cannot {}: {}", doing, std::strerror(error)),
               .why = link ? "a link or a file stands where a folder or a plain file belongs" : "",
               .fix = link ? "remove it, or emit into another folder" : ""});
}

Result<std::vector<std::string>> steps_of(const std::string& path, const std::string& folder) {
  std::vector<std::string> steps;
  for (const std::string_view step : split(path, '/')) steps.emplace_back(step);
  for (const std::string& step : steps) {
    if (!step.empty() && step != "." && step != ".." && step.find('\0') == std::string::npos) {
      continue;
    }
    return fail({.code = "emit.path",
                 .place = {folder, 0, 0},
                 .what = fmt::format("`{}` is no path below the folder", path),
                 .why = "an emitted file stays inside the folder that was named",
                 .fix = "if it stands in the manifest, restore or remove the manifest"});
  }
  return steps;
}

// The folder that holds the last step; -1 with errno where it is not there.
Descriptor parent_of(int root, const std::vector<std::string>& steps, bool create) {
  Descriptor at(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (std::size_t i = 0; i + 1 < steps.size() && at.get() >= 0; ++i) {
    if (create && ::mkdirat(at.get(), steps[i].c_str(), 0755) != 0 && errno != EEXIST) {
      return Descriptor(-1);
    }
    at = Descriptor(
        ::openat(at.get(), steps[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

Result<std::string> read_all(int fd, const std::string& name) {
  std::string text;
  std::string chunk(std::size_t{64} << 10, '\0');
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(name, "read", errno);
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kFileBytesMax) return failed(name, "read", EFBIG);
  }
}

// Renames `from` over `to` once its bytes are on the disk, and the rename too.
bool replace(int folder, const std::string& from, const std::string& to, const Descriptor& file) {
  return ::fsync(file.get()) == 0 && ::renameat(folder, from.c_str(), folder, to.c_str()) == 0 &&
         ::fsync(folder) == 0;
}

}  // namespace

Result<std::unique_ptr<EmitFolder>> EmitFolder::open(const std::string& path, bool create) {
  if (create) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return failed(path, "make the folder", error.value());
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && (errno != ENOENT || create)) return failed(path, "open the folder", errno);
  std::unique_ptr<EmitFolder> folder(new EmitFolder(path, fd));
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return fail({.code = "emit.busy",
                 .place = {path, 0, 0},
                 .what = "another emit is at work in this folder",
                 .fix = "run it again when that one has ended"});
  }
  return folder;
}

EmitFolder::~EmitFolder() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::optional<FileOnDisk>> EmitFolder::read(const std::string& path) const {
  if (fd_ < 0) return std::nullopt;
  const auto steps = steps_of(path, path_);
  if (!steps) return std::unexpected(steps.error());
  const std::string name = path_ + '/' + path;
  const Descriptor parent = parent_of(fd_, *steps, false);
  if (parent.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    return failed(name, "open", errno);
  }
  // Non-blocking: a pipe in the file's place must not hold us up.
  const Descriptor file(::openat(parent.get(), steps->back().c_str(),
                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    return failed(name, "open", errno);
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return failed(name, "look at", errno);
  if (!S_ISREG(status.st_mode)) return failed(name, "read", ENOTDIR);
  auto text = read_all(file.get(), name);
  if (!text) return std::unexpected(std::move(text.error()));
  return FileOnDisk{std::move(*text), (status.st_mode & S_IXUSR) != 0};
}

Result<void> EmitFolder::write(const emit::EmittedFile& file) const {
  const auto steps = steps_of(file.path, path_);
  if (!steps) return std::unexpected(steps.error());
  const std::string name = path_ + '/' + file.path;
  const Descriptor parent = parent_of(fd_, *steps, true);
  if (parent.get() < 0) return failed(name, "make the folder of", errno);
  const std::string temporary = std::string(kTemporary) + steps->back();
  // One that a killed run left behind; ours alone, since the folder is locked.
  ::unlinkat(parent.get(), temporary.c_str(), 0);
  const mode_t mode = file.executable ? 0755 : 0644;
  const Descriptor out(::openat(parent.get(), temporary.c_str(),
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (out.get() < 0) return failed(name, "write", errno);
  if (write_all(out.get(), file.text) && ::fchmod(out.get(), mode) == 0 &&
      replace(parent.get(), temporary, steps->back(), out)) {
    return {};
  }
  const int error = errno;
  ::unlinkat(parent.get(), temporary.c_str(), 0);
  return failed(name, "write", error);
}

Result<void> EmitFolder::remove(const std::string& path) const {
  auto steps = steps_of(path, path_);
  if (!steps) return std::unexpected(steps.error());
  const Descriptor parent = parent_of(fd_, *steps, false);
  if (parent.get() < 0 ||
      (::unlinkat(parent.get(), steps->back().c_str(), 0) != 0 && errno != ENOENT)) {
    return failed(path_ + '/' + path, "remove", errno);
  }
  // A folder that still holds something refuses, which is what we want.
  for (steps->pop_back(); !steps->empty(); steps->pop_back()) {
    const Descriptor above = parent_of(fd_, *steps, false);
    if (above.get() < 0 || ::unlinkat(above.get(), steps->back().c_str(), AT_REMOVEDIR) != 0) break;
  }
  return {};
}

}  // namespace orrery::cli
