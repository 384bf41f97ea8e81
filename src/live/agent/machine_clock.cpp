#include "live/agent/machine_clock.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "core/base/text.h"
#include "live/agent/probe_folder.h"
#include "live/s3/hash.h"

namespace orrery::agent {

storage::LifecycleClock machine_clock() {
  storage::LifecycleClock clock;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  clock.boot = trimmed(id);
  timespec up{};
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  clock.up = seconds(static_cast<double>(up.tv_sec) + static_cast<double>(up.tv_nsec) * 1e-9);
  return clock;
}

Result<KeepOwner> owner_of(const std::string& journal) {
  const std::string lock = journal + ".lock";
  struct stat facts{};
  if (::stat(lock.c_str(), &facts) != 0) {
    return fail(
        {.code = "journal.unusable", .place = {.file = journal}, .what = failed(lock, "stat")});
  }
  utsname machine{};
  ::uname(&machine);
  std::error_code ignored;
  const std::string path = std::filesystem::absolute(journal, ignored).string();
  const std::string one = fmt::format("{}\n{}\n{}\n{}\n{}", machine_clock().boot, machine.nodename,
                                      path, facts.st_dev, facts.st_ino);
  return KeepOwner{.id = s3::sha256_hex(one).substr(0, 32),
                   .host = machine.nodename,
                   .process = ::getpid(),
                   .journal = path};
}

}  // namespace orrery::agent
