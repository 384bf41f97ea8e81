// A folder held open by its descriptor; everything below it is reached from that descriptor.
//
// Why: the kernel resolves a path again at every call, and anyone who can write to a tree can put a
// link into it. So a path that a user names is resolved once, in Folder::open(); below that, every
// part is opened by openat() with O_NOFOLLOW, one part at a time, on the same mount. A symbolic
// link, a special file or another file system on the way is a fault with the code "files.unsafe"; a
// failure of the operating system is "files.failed" with its reason.
//
// Crashes: write() makes a file appear whole or not at all (a new file, fsync, rename, fsync of the
// folder); move() renames and syncs both folders. Neither ever replaces a folder that is not empty,
// and move() never replaces a file.
//
// Limit: another program that works in the same folder at the same time can rename things between
// two calls. It can make a call fail, but it cannot make it reach outside the folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "live/files/path.h"

namespace orrery::files {

// Name of a file while write() fills it, beside its final name.
inline constexpr const char* kPartName = ".orrery-part";

// A descriptor that closes itself.
class OpenFile {
 public:
  explicit OpenFile(int descriptor = -1) : descriptor_(descriptor) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

// Identifies the file behind a descriptor or a name.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  auto operator<=>(const FileId&) const = default;
};

std::unexpected<Diagnostics> unsafe(const std::string& path, const std::string& what);
// Returns errno as a fault "PATH: CALL: reason".
std::unexpected<Diagnostics> failed_call(const std::string& path, const char* call);

// Returns an id of the mount that a name in an open folder is on, without following a link. An
// empty name is the folder itself. Returns nullopt if it cannot be examined; errno says why.
std::optional<std::uint64_t> mount_at(int folder, const char* name);

class Folder {
 public:
  // Resolves `path` as the user named it. `make` creates the last part if it is missing. It never
  // creates the folders above it, because they may be the mount point of a file system that is not
  // mounted.
  static Result<Folder> open(const std::string& path, bool make = false);

  // Returns the same folder with its own descriptor.
  Result<Folder> itself() const;
  // Returns the folder at `path` below this one. `make` creates missing folders.
  Result<Folder> below(std::string_view path, bool make = false) const;
  // Opens a regular file for reading. Fails if it is anything else.
  Result<OpenFile> read(std::string_view path) const;
  // Writes a file: `fill` writes its contents to a descriptor, and only then does the file appear
  // at `path`. Creates missing folders on the way.
  Result<void> write(std::string_view path, const std::function<Result<void>(int)>& fill) const;
  // Returns whether the name exists. Does not follow links.
  Result<bool> has(std::string_view name) const;
  // Renames `name` in this folder to `new_name` in `to`. The new name must be free.
  Result<void> move(std::string_view name, const Folder& to, std::string_view new_name) const;

  int get() const { return file_.get(); }
  const std::string& path() const { return path_; }  // for messages
  Result<FileId> id() const;
  std::uint64_t mount() const { return mount_; }

 private:
  Folder(OpenFile file, std::string path, std::uint64_t mount)
      : file_(std::move(file)), path_(std::move(path)), mount_(mount) {}
  Result<Folder> part(const std::string& name, bool make) const;

  OpenFile file_;
  std::string path_;
  std::uint64_t mount_ = 0;  // id of its mount
};

}  // namespace orrery::files
