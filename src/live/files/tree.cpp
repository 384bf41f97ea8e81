#include "live/files/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <ranges>

namespace orrery::files {
namespace {

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// Returns the names in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> names_in(const Folder& folder) {
  // A separate descriptor, because readdir() moves the position of the one that it uses.
  const int copy = ::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return failed_call(folder.path(), "open");
  const std::unique_ptr<DIR, DirCloser> dir(::fdopendir(copy));
  if (!dir) {
    ::close(copy);
    return failed_call(folder.path(), "open");
  }
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = ::readdir(dir.get()); errno = 0) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return failed_call(folder.path(), "readdir");
  std::ranges::sort(names);
  return names;
}

const char* kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "it is a symbolic link";
  if (S_ISFIFO(mode)) return "it is a FIFO";
  if (S_ISSOCK(mode)) return "it is a socket";
  return "it is a device";
}

TreeFile file_of(const std::string& path, const struct stat& facts) {
  return {.path = path,
          .id = {facts.st_dev, facts.st_ino},
          .bytes = static_cast<std::uint64_t>(facts.st_size),
          .written_s = facts.st_mtim.tv_sec,
          .written_ns = facts.st_mtim.tv_nsec,
          .changed_s = facts.st_ctim.tv_sec,
          .changed_ns = facts.st_ctim.tv_nsec};
}

class Walker {
 public:
  explicit Walker(unsigned mode) { tree_.mode = mode; }

  Result<void> into(const Folder& folder, const std::string& above, std::size_t depth) {
    const auto names = names_in(folder);
    if (!names) return std::unexpected(names.error());
    for (const std::string& name : *names) look_at(folder, name, above, depth);
    return {};
  }

  Tree finish() {
    for (const auto& [id, seen] : links_) {
      if (seen.names < seen.links) {
        note(seen.path, "it has another name outside the item (a hard link)");
      }
    }
    std::ranges::sort(tree_.files, {}, &TreeFile::path);
    std::ranges::sort(tree_.folders);
    std::ranges::sort(tree_.odd, {}, &Oddity::path);
    return std::move(tree_);
  }

 private:
  struct Linked {
    std::string path;
    std::uint64_t names = 0;
    std::uint64_t links = 0;
  };

  void note(const std::string& path, std::string what) {
    tree_.odd.push_back({path, std::move(what)});
  }

  void look_at(const Folder& folder, const std::string& name, const std::string& above,
               std::size_t depth) {
    const std::string path = above + name;
    struct stat facts{};
    if (::fstatat(folder.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      // A file that disappears during the walk counts as absent.
      if (errno != ENOENT) note(path, std::string("stat: ") + std::strerror(errno));
      return;
    }
    if (S_ISDIR(facts.st_mode)) return walk_into(folder, name, path, depth);
    if (!S_ISREG(facts.st_mode)) return note(path, kind_of(facts.st_mode));
    const auto mount = mount_at(folder.get(), name.c_str());
    if (mount && *mount != folder.mount()) return note(path, "another file is mounted here");
    if (facts.st_nlink > 1) {
      Linked& linked = links_[{facts.st_dev, facts.st_ino}];
      linked.path = path, linked.links = facts.st_nlink, ++linked.names;
    }
    if ((facts.st_mode & S_IRGRP) == 0) tree_.mode &= ~static_cast<unsigned>(S_IRWXG);
    if ((facts.st_mode & S_IROTH) == 0) tree_.mode &= ~static_cast<unsigned>(S_IRWXO);
    tree_.files.push_back(file_of(path, facts));
  }

  void walk_into(const Folder& folder, const std::string& name, const std::string& path,
                 std::size_t depth) {
    if (depth + 1 >= kPathPartsMax || !path_fault(path).empty()) {
      return note(path, "the tree is too deep");
    }
    const auto child = folder.below(name);
    if (!child) {
      const std::string& why = child.error().front().what;
      return note(path, why.substr(why.find(": ") == std::string::npos ? 0 : why.find(": ") + 2));
    }
    tree_.folders.push_back(path);
    if (auto walked = into(*child, path + '/', depth + 1); !walked) {
      note(path, walked.error().front().what);
    }
  }

  Tree tree_;
  std::map<FileId, Linked> links_;
};

// Calls `act` with the parent folder of `path` and its last name.
Result<void> with_parent(const Folder& root, const std::string& path,
                         const std::function<Result<void>(const Folder&, const char*)>& act) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return act(root, path.c_str());
  const auto parent = root.below(path.substr(0, slash));
  if (!parent) return std::unexpected(parent.error());
  return act(*parent, path.c_str() + slash + 1);
}

// Removes one file if it is still the file that was seen.
Result<void> remove_file(const Folder& parent, const char* name, const TreeFile& seen) {
  const std::string path = parent.path() + '/' + name;
  struct stat facts{};
  if (::fstatat(parent.get(), name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return {};
    return failed_call(path, "stat");
  }
  TreeFile now = file_of(seen.path, facts);
  // Removing another name of the file, within the tree, changed this time.
  now.changed_s = seen.changed_s, now.changed_ns = seen.changed_ns;
  if (!S_ISREG(facts.st_mode) || now != seen) {
    return unsafe(path, "it was replaced by another file");
  }
  if (::unlinkat(parent.get(), name, 0) != 0) return failed_call(path, "unlink");
  return {};
}

// Fails if the folder is not empty.
Result<void> remove_folder(const Folder& parent, const char* name) {
  if (::unlinkat(parent.get(), name, AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return failed_call(parent.path() + '/' + name, "rmdir");
}

}  // namespace

Result<Tree> walk(const Folder& folder, std::string_view name) {
  const auto top = folder.below(name);
  if (!top) return std::unexpected(top.error());
  struct stat facts{};
  if (::fstat(top->get(), &facts) != 0) return failed_call(top->path(), "stat");
  Walker walker(facts.st_mode & 0777);
  if (auto walked = walker.into(*top, "", 1); !walked) return std::unexpected(walked.error());
  return walker.finish();
}

Result<Level> level(const Folder& folder) {
  const auto names = names_in(folder);
  if (!names) return std::unexpected(names.error());
  Level found;
  for (const std::string& name : *names) {
    struct stat facts{};
    if (::fstatat(folder.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT)
        found.odd.push_back({name, std::string("stat: ") + std::strerror(errno)});
    } else if (S_ISDIR(facts.st_mode)) {
      found.folders.push_back(name);
    } else if (S_ISREG(facts.st_mode)) {
      found.files.push_back(file_of(name, facts));
    } else {
      found.odd.push_back({name, kind_of(facts.st_mode)});
    }
  }
  return found;
}

Result<void> remove(const Folder& folder, std::string_view name, const Tree& seen) {
  const std::string top(name);
  if (!seen.odd.empty()) {
    return unsafe(folder.path() + '/' + top + '/' + seen.odd.front().path, seen.odd.front().what);
  }
  const auto root = folder.below(top);
  if (!root) return std::unexpected(root.error());
  for (const TreeFile& file : seen.files) {
    auto gone = with_parent(*root, file.path, [&](const Folder& parent, const char* last) {
      return remove_file(parent, last, file);
    });
    if (!gone) return gone;
  }
  // Deepest folders first.
  for (const std::string& path : seen.folders | std::views::reverse) {
    if (auto gone = with_parent(*root, path, remove_folder); !gone) return gone;
  }
  return remove_folder(folder, top.c_str());
}

}  // namespace orrery::files
