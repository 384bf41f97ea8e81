#include "app/cli/store_guards.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace orrery::cli {
namespace {

// Open files to ask for. More would only enlarge the kernel's tables, because connections have a
// limit of their own.
constexpr rlim_t kOpenFilesWanted = 65536;
constexpr std::uint64_t kOwnFiles = 32;        // standard streams, logs and listening sockets
constexpr std::uint64_t kMetadataFiles = 256;  // number of files that RocksDB may keep open
constexpr std::uint64_t kConnectionsMin = 8;

}  // namespace

PrivateFiles::PrivateFiles() : before_(::umask(077)) {}
PrivateFiles::~PrivateFiles() { ::umask(before_); }

Result<void> check_private_file(const std::string& file) {
  struct stat found{};
  if (file.empty() || ::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  const mode_t allowed = found.st_uid == 0 ? 0640 : 0600;
  const mode_t mode = found.st_mode & 07777;
  // Its owner can read and replace it, whatever its mode.
  if (found.st_uid != 0 && found.st_uid != ::geteuid()) {
    return fail({.code = "store.secrets",
                 .place = {file},
                 .what = fmt::format("the file belongs to another user (uid {})", found.st_uid),
                 .why = "anyone who has its secrets can read and change what is stored",
                 .fix = "chown it to the user who runs the store, and chmod 600"});
  }
  if ((mode & 0077 & ~allowed) == 0) return {};
  return fail(
      {.code = "store.secrets",
       .place = {file},
       .what = fmt::format("the file has mode {:04o}: other users can read the secrets in it",
                           static_cast<unsigned>(mode)),
       .why = "anyone who has them can read and change what is stored",
       .fix = "chmod 600 " + file});
}

std::uint64_t raise_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 1024;
  const rlim_t wanted = std::min(files.rlim_max, kOpenFilesWanted);
  if (files.rlim_cur >= wanted) return files.rlim_cur;
  const rlimit raised{wanted, files.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? wanted : files.rlim_cur;
}

int connections_for(std::uint64_t open_files, int shards, int handlers, int most) {
  const std::uint64_t room = open_files - std::min(open_files, kOwnFiles);
  const std::uint64_t metadata = std::min(kMetadataFiles, room / 3);
  const std::uint64_t wanted = static_cast<std::uint64_t>(std::max(1, shards)) *
                               static_cast<std::uint64_t>(std::max(1, handlers));
  const std::uint64_t drives = std::min(wanted, room / 3);
  const std::uint64_t left = std::max(kConnectionsMin, room - metadata - drives);
  return static_cast<int>(std::min(left, static_cast<std::uint64_t>(most)));
}

}  // namespace orrery::cli
