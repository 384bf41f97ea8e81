// A tree of files as one walk by descriptors finds it, and its removal.
//
// walk() follows nothing. It lists the regular files and the folders, and names everything that a
// tree of plain data does not have, with its path:
//   symbolic links, special files (FIFO, socket, device), folders on another mount, names that the
//   operating system would not let us look at, files with a name outside the tree (a hard link: its
//   bytes are somebody else's as well), trees that are too deep.
// What to do about an oddity is the caller's; remove() does nothing if there is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "live/files/folder.h"

namespace orrery::files {

struct TreeFile {
  std::string path;  // below the tree, with '/' between its parts
  FileId id;
  std::uint64_t bytes = 0;
  std::int64_t written_s = 0;  // the last write, since 1970
  std::int64_t written_ns = 0;

  bool operator==(const TreeFile&) const = default;
};

struct Oddity {
  std::string path;
  std::string what;  // "it is a symbolic link"
};

struct Tree {
  std::vector<TreeFile> files;       // sorted by path
  std::vector<std::string> folders;  // sorted: each after the one it is in
  std::vector<Oddity> odd;           // sorted by path
};

// The tree at `name` in the folder. Fails if `name` is no folder that can be opened.
Result<Tree> walk(const Folder& folder, std::string_view name);

// What lies in the folder itself, one level deep: names of folders, regular files, and the rest.
struct Level {
  std::vector<std::string> folders;
  std::vector<TreeFile> files;
  std::vector<Oddity> odd;
};
Result<Level> level(const Folder& folder);

// Removes the tree at `name` if it is still as `seen`; stops at the first file that is another one.
// What somebody has put there meanwhile stays, with the folders above it.
Result<void> remove(const Folder& folder, std::string_view name, const Tree& seen);

}  // namespace orrery::files
