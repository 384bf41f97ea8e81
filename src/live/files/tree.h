// Walks a tree of files by descriptors, and removes it.
//
// walk() follows no links. It lists the regular files and the folders, and everything that a tree
// of plain data does not have as an oddity, with its path:
//   symbolic links, special files (FIFO, socket, device), files and folders on another mount, names
//   that could not be examined, files that have another name outside the tree (hard links, so
//   others share the bytes), trees that are too deep.
// The caller decides what to do about an oddity; remove() does nothing if there is one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "live/files/folder.h"

namespace orrery::files {

struct TreeFile {
  std::string path;  // relative to the tree, with '/' between its parts
  FileId id;
  std::uint64_t bytes = 0;
  std::int64_t written_s = 0;  // time of the last write, since 1970
  std::int64_t written_ns = 0;
  std::int64_t changed_s = 0;  // time of the last change of bytes, names or rights; no program can
                               // set it back
  std::int64_t changed_ns = 0;

  bool operator==(const TreeFile&) const = default;
};

struct Oddity {
  std::string path;
  std::string what;  // "it is a symbolic link"
};

struct Tree {
  std::vector<TreeFile> files;       // sorted by path
  std::vector<std::string> folders;  // sorted: each after its parent
  std::vector<Oddity> odd;           // sorted by path
  // Rights of the tree's own folder, without those of a group or of others who may not read one of
  // its files.
  unsigned mode = 0755;
};

// Returns the tree at `name` in the folder. Fails if `name` is not a folder that can be opened.
Result<Tree> walk(const Folder& folder, std::string_view name);

// The entries of one folder: names of folders, regular files, and oddities.
struct Level {
  std::vector<std::string> folders;
  std::vector<TreeFile> files;
  std::vector<Oddity> odd;
};
Result<Level> level(const Folder& folder);

// Removes the tree at `name` if it is still as `seen`; stops at the first file that differs. Files
// that were added since stay, and so do the folders above them.
Result<void> remove(const Folder& folder, std::string_view name, const Tree& seen);

}  // namespace orrery::files
