#include "app/server/replicate.h"

#include <atomic>
#include <optional>
#include <thread>

namespace orrery::server {

std::vector<run::Replication> replicate_all(const run::Simulation& simulation,
                                            const ReplicateOptions& options) {
  const int all = simulation.options().replications;
  std::vector<std::optional<run::Replication>> done(static_cast<std::size_t>(all));
  std::atomic<int> next = 0;
  std::atomic<bool> stopped = false;
  const auto work = [&] {
    for (int n = next++; n < all && !stopped; n = next++) {
      auto& mine = done[static_cast<std::size_t>(n)];
      mine = simulation.replicate(n, options.part);
      if (!mine) stopped = true;
      if (mine && options.whole) options.whole();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < options.threads; ++i) others.emplace_back(work);
    work();
  }
  std::vector<run::Replication> kept;
  for (std::optional<run::Replication>& r : done) {
    if (r) kept.push_back(std::move(*r));
  }
  return kept;
}

}  // namespace orrery::server
