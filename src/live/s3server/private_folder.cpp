#include "live/s3server/private_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "live/drives/ceph_pool.h"

namespace orrery::s3server {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthers = 0077;

class Tightening {
 public:
  // Tightens one file or folder. Does not follow links.
  void one(const std::string& path) {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0 || S_ISLNK(found.st_mode)) return;
    tighten(path, found);
  }
  // Tightens the folder, which may itself be a link, and the files in it.
  void flat(const std::string& folder) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      one(at->path().string());
    }
    top(folder);
  }
  // Tightens everything below the folder, and the folder last. If a run dies before that, the next
  // one repeats it.
  void deep(const std::string& folder) {
    struct stat found{};
    if (::stat(folder.c_str(), &found) != 0 || (found.st_mode & kOthers) == 0) return;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      one(at->path().string());
    }
    top(folder);
  }
  void top(const std::string& folder) {
    struct stat found{};
    if (::stat(folder.c_str(), &found) == 0) tighten(folder, found);
  }

  std::size_t tightened = 0;
  std::string refused = {};  // the first path that could not be changed, and why

 private:
  void tighten(const std::string& path, const struct stat& found) {
    if ((found.st_mode & kOthers) == 0) return;
    if (!S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode)) return;
    if (::chmod(path.c_str(), found.st_mode & 07777 & ~kOthers) == 0) {
      ++tightened;
    } else if (refused.empty()) {
      refused = path + ": " + std::strerror(errno);
    }
  }
};

bool is_on_this_machine(const std::string& path) {
  return !is_s3_place(path) && !drives::is_pool_place(path);
}

}  // namespace

Diagnostics tighten_modes(const std::string& folder, const OpenedFolder& store) {
  Tightening work;
  for (const auto& [id, path] : store.folders) {
    if (!is_on_this_machine(path)) continue;
    const bool outside = fs::path(path).is_absolute();
    const std::string drive = outside ? path : folder + '/' + path;
    work.one(drive + "/drive");
    work.one(drive + "/seen");
    work.deep(drive + "/aside");
    work.deep(drive + "/data");
    if (!outside) work.top(drive);
  }
  if (store.database.empty()) work.flat(folder + "/metadata");
  work.flat(folder + "/spool");
  work.one(folder + "/store");
  work.top(folder);
  Diagnostics notes;
  const auto note = [&](std::string what, std::string fix) {
    notes.push_back({.severity = Severity::warning,
                     .code = "store.modes",
                     .place = {folder},
                     .what = std::move(what),
                     .why = "these files contain the tenants' secret keys and small objects",
                     .fix = std::move(fix)});
  };
  if (work.tightened > 0) {
    note(fmt::format("other users of this machine could read {} files and folders of the store; "
                     "their modes are now 0700 and 0600",
                     work.tightened),
         "if other people have used this machine, give the tenants new secret keys");
  }
  if (!work.refused.empty()) {
    note(
        "other users of this machine can read files of the store, and the modes could not be "
        "changed: " +
            work.refused,
        "run chmod -R go-rwx " + folder + ", as their owner or as root");
  }
  return notes;
}

}  // namespace orrery::s3server
