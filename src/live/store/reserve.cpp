#include "live/store/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

namespace orrery::store {
namespace {

constexpr std::uint64_t kReserveBytesMost = std::uint64_t{8} << 20;
// RocksDB flushes its logs and starts new files when it opens; with less space it may abort the
// process.
constexpr std::uint64_t kOpenBytesMin = std::uint64_t{1} << 20;
// With less space nothing is added: requests in progress and later removals must still fit.
constexpr std::uint64_t kTightBytes = std::uint64_t{1} << 20;

std::uint64_t free_bytes_at(const std::string& folder) {
  struct statvfs now{};
  if (::statvfs(folder.c_str(), &now) != 0) return 0;
  return static_cast<std::uint64_t>(now.f_bavail) * now.f_frsize;
}

}  // namespace

// A quarter of the free space, so that the reserve itself does not fill a small disk.
void Reserve::take(std::uint64_t free_bytes) {
  const std::uint64_t bytes = std::min(kReserveBytesMost, free_bytes / 4);
  const int made = ::open(file().c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (made < 0) return;
  // Allocates real blocks; a sparse file would reserve nothing.
  const bool good = ::posix_fallocate(made, 0, static_cast<off_t>(bytes)) == 0;
  ::close(made);
  if (!good) ::unlink(file().c_str());
}

void Reserve::tend() {
  const std::uint64_t free = free_bytes_at(folder_);
  const bool held = ::access(file().c_str(), F_OK) == 0;
  if (held && free < kTightBytes) {
    ::unlink(file().c_str());
    tight_ = true;
  } else if (!held && free >= 4 * kTightBytes) {
    take(free);
    tight_ = false;
  } else if (held) {
    tight_ = false;
  } else {
    tight_ = tight_ || free < kTightBytes;
  }
}

bool Reserve::has_room() {
  if (free_bytes_at(folder_) >= kOpenBytesMin) return true;
  ::unlink(file().c_str());
  tight_ = true;
  return free_bytes_at(folder_) >= kOpenBytesMin;
}

}  // namespace orrery::store
