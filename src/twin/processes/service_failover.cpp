#include "twin/processes/service_failover.h"

#include <algorithm>

#include "model/jobs/failover_ways.h"
#include "twin/processes/service_plan.h"

namespace orrery::processes {
namespace {

std::size_t busiest_hour(const ServicePlan& p) {
  return static_cast<std::size_t>(std::ranges::max_element(p.job.day) - p.job.day.begin());
}

// Returns the zones at the worst hour, with one of them down.
std::vector<traffic::RegionNow> worst_hour(const std::vector<ServicePlan>& zones, std::size_t lost,
                                           std::size_t hour) {
  std::vector<traffic::RegionNow> now;
  for (std::size_t z = 0; z < zones.size(); ++z) {
    const ServicePlan& p = zones[z];
    const bool is_up = z != lost && p.feasible();
    now.push_back({.load = p.feasible() ? p.job.day[hour] : 0,
                   .capacity = is_up ? p.called_at(hour) * p.capacity : 0});
  }
  return now;
}

}  // namespace

void plan_failovers(std::vector<ServicePlan>& zones) {
  const design::Serve& serve = *zones.front().job.serve;
  const auto names = [](const design::Zone& z) { return !z.failover.empty(); };
  if (std::ranges::none_of(serve.zones, names)) return;
  std::vector<traffic::Region> regions;
  for (std::size_t z = 0; z < zones.size(); ++z) {
    traffic::Region region{
        .after = serve.zones[z].failover_after.value_or(design::kFailoverAfter).base(),
        .farthest = jobs::farthest_failover(serve).base()};
    for (const jobs::FailoverWay& way : zones[z].job.ways) {
      region.ways.push_back({.to = way.zone, .round_trip = way.away().base()});
    }
    regions.push_back(region);
    zones[z].failover = ZoneFailover{.region = region};
  }
  for (std::size_t z = 0; z < zones.size(); ++z) {
    if (!zones[z].feasible()) continue;
    const std::size_t hour = busiest_hour(zones[z]);
    std::vector<bool> given_up(zones.size());
    given_up[z] = true;
    const auto routing = route(regions, worst_hour(zones, z, hour), given_up);
    zones[z].failover->refused = routing.refused[z];
    for (const traffic::RegionMove& move : routing.moves) {
      if (move.from != z) continue;
      zones[z].failover->hosts.push_back({.zone = move.to, .rate = move.rate});
      ServicePlan& host = zones[move.to];
      host.ask.guests = std::max(host.ask.guests, move.rate / host.called_at(hour));
    }
  }
}

void simulate_failovers(const machine::Machine& m, std::vector<ServicePlan>& zones) {
  for (ServicePlan& zone : zones) {
    if (!zone.failover) continue;
    const std::size_t hour = zone.feasible() ? busiest_hour(zone) : 0;
    const auto& ways = zone.failover->region.ways;
    for (FailoverHost& host : zone.failover->hosts) {
      const ServicePlan& there = zones[host.zone];
      const auto way = std::ranges::find(ways, host.zone, &traffic::RegionWay::to);
      if (there.windows.levels.empty() || there.ask.serve == nullptr) continue;
      const double each = zone.job.day[hour] / zone.called_at(hour);
      host.windows = simulate_guests(m.models(), there.ask,
                                     {.own = there.job.day[hour],
                                      .rate = host.rate,
                                      .stay = zone.stay_at(each).base(),
                                      .replicas = there.called_at(hour),
                                      .away = Seconds(way->round_trip)});
    }
  }
}

}  // namespace orrery::processes
