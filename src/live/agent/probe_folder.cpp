#include "live/agent/probe_folder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/base/units.h"

namespace orrery::agent {
namespace {

namespace fs = std::filesystem;

// Share of the file system that is left free, so that a probe does not fill the disk of a busy
// machine.
constexpr double kReserve = 0.02;

struct Magic {
  long number;
  const char* name;
};
// Values from <linux/magic.h>, and of file systems that are missing there.
constexpr Magic kMagic[] = {{0xEF53, "ext4"},
                            {0x58465342, "xfs"},
                            {0x9123683E, "btrfs"},
                            {0x01021994, "tmpfs"},
                            {0x6969, "nfs"},
                            {0x0BD00BD0, "lustre"},
                            {0x47504653, "gpfs"},
                            {0x794c7630, "overlay"},
                            {0x65735546, "fuse"},
                            {0x00c36400, "ceph"},
                            {0x19830326, "beegfs"},
                            {0x2fc12fc1, "zfs"},
                            {static_cast<long>(0xff534d42), "smb"}};
constexpr long kTmpfs = 0x01021994;

}  // namespace

std::string failed(const std::string& path, const char* call) {
  return fmt::format("{}: {}: {}", path, call, std::strerror(errno));
}

Diagnostic system_fault(const std::string& path, const std::string& what, int error) {
  return {.code = "probe.system",
          .place = {.file = path},
          .what = what,
          .why = std::strerror(error),
          .fix = ""};
}

Result<FileSystem> file_system_of(const std::string& path) {
  struct statfs facts{};
  if (statfs(path.c_str(), &facts) != 0) {
    return fail(system_fault(path, "the file system cannot be read", errno));
  }
  const auto* known = std::ranges::find(kMagic, static_cast<long>(facts.f_type), &Magic::number);
  FileSystem out{.name =
                     known != std::end(kMagic) ? known->name : fmt::format("{:#x}", facts.f_type)};
  out.free_bytes =
      static_cast<std::uint64_t>(facts.f_bavail) * static_cast<std::uint64_t>(facts.f_bsize);
  const double reserve =
      kReserve * static_cast<double>(facts.f_blocks) * static_cast<double>(facts.f_bsize);
  out.free_bytes -= std::min(out.free_bytes, static_cast<std::uint64_t>(reserve));
  out.in_memory = facts.f_type == kTmpfs;
  return out;
}

Result<ProbeFolder> ProbeFolder::make(const std::string& parent, std::uint64_t needed_bytes) {
  std::error_code ignored;
  if (!fs::is_directory(parent, ignored)) {
    return fail({.code = "probe.place",
                 .place = {.file = parent},
                 .what = "this is not a folder",
                 .why = "a probe creates a temporary folder of its own inside the given one",
                 .fix = "give a folder on the storage to measure, or s3://BUCKET/PREFIX"});
  }
  const auto system = file_system_of(parent);
  if (!system) return std::unexpected(system.error());
  if (system->free_bytes < needed_bytes) {
    return fail(
        {.code = "probe.space",
         .place = {.file = parent},
         .what = fmt::format("the probe needs {}, but only {} are free",
                             brief(Bytes(static_cast<double>(needed_bytes))),
                             brief(Bytes(static_cast<double>(system->free_bytes)))),
         .why = "the probe leaves 2 % of the file system free so that it never fills a disk",
         .fix = "choose a smaller --size"});
  }
  std::string path = (fs::path(parent) / "orrery-probe-XXXXXX").string();
  if (!mkdtemp(path.data())) {
    return fail(system_fault(parent, "cannot create a folder here", errno));
  }
  return ProbeFolder(path);
}

ProbeFolder::~ProbeFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

ProbeFolder::ProbeFolder(ProbeFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Result<NamelessFile> open_nameless(const ProbeFolder& folder, bool direct) {
  const std::string path = folder.path() + "/blocks";
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  int descriptor = direct ? open(path.c_str(), flags | O_DIRECT, 0600) : -1;
  const bool is_direct = descriptor >= 0;
  if (descriptor < 0 && direct)
    unlink(path.c_str());  // some file systems create the file before
                           // they refuse
  if (descriptor < 0) descriptor = open(path.c_str(), flags, 0600);
  if (descriptor < 0) return fail(system_fault(path, "cannot create the file", errno));
  unlink(path.c_str());
  return NamelessFile{OpenFile(descriptor), is_direct};
}

}  // namespace orrery::agent
