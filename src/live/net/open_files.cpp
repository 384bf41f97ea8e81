#include "live/net/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace orrery::net {

int connections_that_fit(int most) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return most;
  const rlim_t room = files.rlim_cur - std::min<rlim_t>(files.rlim_cur, kOtherFiles);
  if (room >= static_cast<rlim_t>(std::max(most, 0))) return most;
  return std::min(most, std::max(kConnectionsLeast, static_cast<int>(room)));
}

}  // namespace orrery::net
