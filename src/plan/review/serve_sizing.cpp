#include "plan/review/serve_sizing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/probability.h"
#include "model/figures/assumptions.h"

namespace orrery::review {
namespace {

using figures::assumptions::kReplicaBack;
// Halves round up, whatever the last bit of a share is.
constexpr double kRounding = 1e-9;

double hosts_of(const ServeView& v, double replicas) {
  const double devices = v.accelerators_for(replicas);
  return std::max(1.0, devices / std::max(1, v.fleet->accelerators_per_host));
}

// Returns the hosts that may be down while the rest carries the peak.
double spare_hosts(const ServeView& v, double replicas) {
  const double replicas_per_host = replicas / hosts_of(v, replicas);
  return std::max(0.0,
                  std::floor((replicas - v.replicas_needed * figures::assumptions::kReplicaLoad) /
                             replicas_per_host));
}

double availability_at(const ServeView& v, double replicas, PerSecond host_rate) {
  // Too few for the peak even before anything fails: never enough.
  if (replicas < v.replicas_needed * figures::assumptions::kReplicaLoad - kRounding) return 0;
  const double hosts_down = hosts_of(v, replicas) * (host_rate * kReplicaBack);
  // A host takes all its replicas down; the service is up while the rest carries the peak.
  return 1 - poisson_above(static_cast<std::int64_t>(spare_hosts(v, replicas)), hosts_down);
}

}  // namespace

double replicas_when_short(const ServeView& v) {
  const double lost = (spare_hosts(v, v.replicas) + 1) / hosts_of(v, v.replicas);
  return std::max(0.0, v.replicas * (1 - lost));
}

std::string replicas_path(const ServeView& v) {
  if (!v.serve->zones.empty() && v.serve->zones[v.zone].replicas) {
    return fmt::format("{}.zones[{}].replicas", v.path, v.zone);
  }
  return v.path + (v.serve->autoscale ? ".autoscale.max" : ".replicas");
}

double availability_with(const ServeView& v, double replicas, const machine::Machine& m) {
  return availability_at(v, replicas, m.failures_of(*v.fleet).host_rate());
}

double enough_replicas(const ServeView& v, const machine::Machine& m) {
  const double with_guests = v.replicas_for(v.peak + v.guests_asked);
  const double least =
      std::ceil((v.guests_asked > PerSecond(0) ? std::max(v.replicas_needed, with_guests)
                                               : v.replicas_needed) -
                kRounding);
  if (!v.workload->terms.availability) return least;
  const PerSecond host_rate = m.failures_of(*v.fleet).host_rate();
  const double most = 2 * least + 64;
  // A large service is tried in steps of a few replicas per thousand.
  const double step = 1 + std::floor(least / 256);
  for (double replicas = least; replicas <= most; replicas += step) {
    if (availability_at(v, replicas, host_rate) >= *v.workload->terms.availability) return replicas;
  }
  return std::max(least, v.replicas);  // no number is enough, and a rule says so
}

std::optional<int> replicas_for_availability(const ServeView& v, double wanted,
                                             const machine::Machine& m) {
  const PerSecond host_rate = m.failures_of(*v.fleet).host_rate();
  const auto have = static_cast<int>(std::ceil(std::min(v.replicas, 1e6)));
  // A large service is tried in steps of a few replicas per thousand.
  const int step = 1 + have / 256;
  for (int replicas = have; replicas <= 2 * have + 64; replicas += step) {
    if (availability_at(v, replicas, host_rate) >= wanted) return replicas;
  }
  return std::nullopt;
}

}  // namespace orrery::review
