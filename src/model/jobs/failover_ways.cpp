#include "model/jobs/failover_ways.h"

#include "model/jobs/request_shape.h"

namespace orrery::jobs {

const machine::Fleet* fleet_of_zone(const machine::Fleets& fleets, const design::Zone& zone) {
  if (!zone.fleet.empty()) return find_fleet(fleets, zone.fleet);
  for (const machine::Fleet& f : fleets) {
    if (f.site && f.site->name == zone.site) return &f;
  }
  return nullptr;
}

Seconds farthest_failover(const design::Serve& serve) {
  const design::Objective& o = serve.objective;
  const Seconds bound = o.ttft_p99.value_or(Seconds(traffic::kForever));
  return o.latency_p99 ? min(bound, *o.latency_p99) : bound;
}

std::vector<FailoverWay> failover_ways(const machine::Machine& m, const design::Workload& w,
                                       std::size_t zone) {
  const auto& serve = std::get<design::Serve>(w.task);
  const design::Zone& from = serve.zones[zone];
  const Bytes bytes = request_bytes(serve, request_of(m, serve));
  std::vector<FailoverWay> ways;
  for (const std::string& site : from.failover) {
    const auto path = machine::wan_between(m.design(), from.site, site);
    for (std::size_t z = 0; path && z < serve.zones.size(); ++z) {
      if (serve.zones[z].site != site || z == zone) continue;
      const machine::Fleet* fleet = fleet_of_zone(m.fleets, serve.zones[z]);
      if (fleet == nullptr || !design::is_inside(from.residency, fleet->region) ||
          !design::is_inside(w.terms.residency, fleet->region)) {
        continue;
      }
      ways.push_back({.zone = z, .path = *path, .carry = bytes / path->rate});
    }
  }
  return ways;
}

}  // namespace orrery::jobs
