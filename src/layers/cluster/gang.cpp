#include "layers/cluster/gang.h"

#include <algorithm>
#include <numeric>

namespace orrery::cluster {

const char* to_text(GangVerdict v) {
  switch (v) {
    case GangVerdict::fits:
      return "fits";
    case GangVerdict::waits:
      return "waits";
    case GangVerdict::fragmented:
      return "fragmented";
    case GangVerdict::over_quota:
      return "over quota";
    case GangVerdict::never:
      return "never";
  }
  return "";
}

GangAnswer place_gang(const GangRequest& request, std::span<const int> free_gpus, int gpus_on_node,
                      std::optional<int> quota_gpus) {
  const auto fitting = std::count_if(free_gpus.begin(), free_gpus.end(),
                                     [&](int free) { return free >= request.gpus_per_node; });
  const int wanted = request.nodes * request.gpus_per_node;
  GangAnswer answer{.verdict = GangVerdict::fits,
                    .nodes_free = static_cast<int>(fitting),
                    .nodes_short = std::max(0, request.nodes - static_cast<int>(fitting))};
  const int free_in_all = std::accumulate(free_gpus.begin(), free_gpus.end(), 0);
  if (request.gpus_per_node > gpus_on_node || request.nodes > std::ssize(free_gpus)) {
    answer.verdict = GangVerdict::never;
  } else if (quota_gpus && *quota_gpus < wanted) {
    answer.verdict = GangVerdict::over_quota;
  } else if (answer.nodes_short > 0) {
    answer.verdict = free_in_all >= wanted ? GangVerdict::fragmented : GangVerdict::waits;
  }
  return answer;
}

HoldOutcome resolve_holds(std::span<const HeldGang> gangs, int free) {
  HoldOutcome outcome;
  std::vector<bool> done(gangs.size(), false);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t i = 0; i < gangs.size(); ++i) {
      if (done[i] || gangs[i].needs - gangs[i].holds > free) continue;
      done[i] = progress = true;
      free += gangs[i].holds;
      outcome.finish_order.push_back(gangs[i].name);
    }
  }
  outcome.nodes_idle = free;
  for (std::size_t i = 0; i < gangs.size(); ++i) {
    if (done[i]) continue;
    outcome.stuck.push_back(gangs[i].name);
    outcome.nodes_idle += gangs[i].holds;
  }
  outcome.deadlock = !outcome.stuck.empty();
  if (!outcome.deadlock) outcome.nodes_idle = 0;
  return outcome;
}

int gangs_started_atomically(std::span<const HeldGang> gangs, int nodes) {
  int started = 0;
  for (const HeldGang& gang : gangs) {
    if (gang.needs > nodes) continue;
    nodes -= gang.needs;
    ++started;
  }
  return started;
}

}  // namespace orrery::cluster
