#include "live/files/folder.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/text.h"
#include "live/files/replace.h"

namespace orrery::files {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<std::uint64_t> mount_of(int file, const std::string& path) {
  const auto mount = mount_at(file, "");
  if (!mount) return failed_call(path, "statx");
  return *mount;
}

Result<void> synced(int file, const std::string& path) {
  if (::fsync(file) != 0) return failed_call(path, "fsync");
  return {};
}

// Not every file system can refuse to replace a target (NFS cannot); there the name is checked
// first. At worst an empty folder appears in between, which rename() then replaces.
int rename_to_free_name(int from, const char* name, int to, const char* new_name) {
  const long done = ::syscall(SYS_renameat2, from, name, to, new_name, RENAME_NOREPLACE);
  if (done == 0 || (errno != EINVAL && errno != ENOSYS)) return static_cast<int>(done);
  struct stat there{};
  if (::fstatat(to, new_name, &there, AT_SYMLINK_NOFOLLOW) == 0) return errno = EEXIST, -1;
  if (errno != ENOENT) return -1;
  return ::renameat(from, name, to, new_name);
}

// Splits a path into its folder and its last name.
std::pair<std::string, std::string> parted(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(path)};
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

}  // namespace

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

OpenFile::OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::unexpected<Diagnostics> unsafe(const std::string& path, const std::string& what) {
  return fail({.code = "files.unsafe", .what = path + ": " + what});
}

std::unexpected<Diagnostics> failed_call(const std::string& path, const char* call) {
  return fail({.code = "files.failed", .what = path + ": " + call + ": " + std::strerror(errno)});
}

// If the kernel provides the id of a mount (5.8 and later), it also distinguishes bind mounts of
// one file system; otherwise the device is returned.
std::optional<std::uint64_t> mount_at(int folder, const char* name) {
  struct statx facts{};
  constexpr int kFlags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
  if (::statx(folder, name, kFlags, STATX_BASIC_STATS | STATX_MNT_ID, &facts) != 0) {
    return std::nullopt;
  }
  if ((facts.stx_mask & STATX_MNT_ID) != 0) return facts.stx_mnt_id;
  return std::uint64_t{facts.stx_dev_major} << 32 | facts.stx_dev_minor;
}

Result<Folder> Folder::open(const std::string& path, bool make) {
  OpenFile file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file && errno == ENOENT && make) {
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return failed_call(path, "mkdir");
    file = OpenFile(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  if (!file) return failed_call(path, "open");
  const auto mount = mount_of(file.get(), path);
  if (!mount) return std::unexpected(mount.error());
  return Folder(std::move(file), path, *mount);
}

Result<Folder> Folder::part(const std::string& name, bool make) const {
  const std::string path = path_ + '/' + name;
  OpenFile file(::openat(get(), name.c_str(), kFolderFlags));
  if (!file && errno == ENOENT && make) {
    if (::mkdirat(get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
      return failed_call(path, "mkdir");
    }
    if (auto safe = synced(get(), path_); !safe) return std::unexpected(safe.error());
    file = OpenFile(::openat(get(), name.c_str(), kFolderFlags));
  }
  if (!file && (errno == ELOOP || errno == ENOTDIR)) {
    return unsafe(path, "it is not a folder, or it is a symbolic link");
  }
  if (!file) return failed_call(path, "open");
  const auto mount = mount_of(file.get(), path);
  if (!mount) return std::unexpected(mount.error());
  if (*mount != mount_) return unsafe(path, "another file system is mounted here");
  return Folder(std::move(file), path, *mount);
}

Result<Folder> Folder::itself() const {
  OpenFile file(::fcntl(get(), F_DUPFD_CLOEXEC, 0));
  if (!file) return failed_call(path_, "dup");
  return Folder(std::move(file), path_, mount_);
}

Result<Folder> Folder::below(std::string_view path, bool make) const {
  if (const std::string fault = path_fault(path); !fault.empty()) {
    return unsafe(path_ + '/' + std::string(path), fault);
  }
  const auto names = split(path, '/');
  auto at = part(std::string(names.front()), make);
  for (std::size_t i = 1; i < names.size() && at; ++i) at = at->part(std::string(names[i]), make);
  return at;
}

Result<OpenFile> Folder::read(std::string_view path) const {
  const std::string whole = path_ + '/' + std::string(path);
  if (const std::string fault = path_fault(path); !fault.empty()) return unsafe(whole, fault);
  const auto [folders, name] = parted(path);
  if (!folders.empty()) {
    const auto parent = below(folders);
    if (!parent) return std::unexpected(parent.error());
    return parent->read(name);
  }
  // O_NONBLOCK: opening must not block if a FIFO has taken the file's name.
  OpenFile file(::openat(get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ELOOP) return unsafe(whole, "it is a symbolic link");
  if (!file) return failed_call(whole, "open");
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return failed_call(whole, "stat");
  if (!S_ISREG(facts.st_mode)) return unsafe(whole, "it is not a regular file");
  const auto mount = mount_of(file.get(), whole);
  if (!mount) return std::unexpected(mount.error());
  if (*mount != mount_) return unsafe(whole, "another file system is mounted here");
  return file;
}

Result<void> Folder::write(std::string_view path,
                           const std::function<Result<void>(int)>& fill) const {
  const std::string whole = path_ + '/' + std::string(path);
  if (const std::string fault = path_fault(path); !fault.empty()) return unsafe(whole, fault);
  const auto [folders, name] = parted(path);
  if (!folders.empty()) {
    const auto parent = below(folders, true);
    if (!parent) return std::unexpected(parent.error());
    return parent->write(name, fill);
  }
  Result<void> filled;
  const bool is_there = replace_at(get(), kPartName, name, 0644, [&](int file) {
    filled = fill(file);
    return filled.has_value();
  });
  if (!filled) return filled;
  if (!is_there) return failed_call(whole, "write");
  return {};
}

Result<bool> Folder::has(std::string_view name) const {
  const std::string text(name);
  struct stat facts{};
  if (::fstatat(get(), text.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return failed_call(path_ + '/' + text, "stat");
}

Result<void> Folder::move(std::string_view name, const Folder& to,
                          std::string_view new_name) const {
  const std::string from_name(name), to_name(new_name);
  for (const std::string& one : {from_name, to_name}) {
    const std::string fault = path_fault(one);
    if (!fault.empty() || one.find('/') != std::string::npos) {
      return unsafe(path_ + '/' + one, fault.empty() ? "a name must not contain '/'" : fault);
    }
  }
  if (rename_to_free_name(get(), from_name.c_str(), to.get(), to_name.c_str()) != 0) {
    return failed_call(path_ + '/' + from_name, "rename");
  }
  if (auto safe = synced(to.get(), to.path_); !safe) return safe;
  return synced(get(), path_);
}

Result<FileId> Folder::id() const {
  struct stat facts{};
  if (::fstat(get(), &facts) != 0) return failed_call(path_, "stat");
  return FileId{facts.st_dev, facts.st_ino};
}

}  // namespace orrery::files
