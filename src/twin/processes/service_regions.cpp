#include "twin/processes/service_regions.h"

#include <utility>

namespace orrery::processes {

ServiceRegions::ServiceRegions(sim::Kernel& kernel, std::span<ServiceProcess* const> services)
    : kernel_(kernel) {
  for (std::size_t s = 0; s < services.size();) {
    const design::Workload* workload = services[s]->plan().job.workload;
    std::vector<ServiceProcess*> zones;
    std::vector<traffic::Region> regions;
    for (; s < services.size() && services[s]->plan().job.workload == workload; ++s) {
      if (!services[s]->plan().failover) continue;
      zones.push_back(services[s]);
      regions.push_back(services[s]->plan().failover->region);
      group_of_[services[s]->index()] = groups_.size();
      services[s]->report_to(*this);
    }
    if (zones.empty()) continue;
    groups_.push_back({.zones = std::move(zones),
                       .policy = traffic::FailoverPolicy(std::move(regions)),
                       .timer = {}});
  }
}

ServiceRegions::~ServiceRegions() { kernel_.forget(*this); }

void ServiceRegions::zone_changed(const ServiceProcess& zone) {
  reroute(group_of_.at(zone.index()));
}

void ServiceRegions::on_event(sim::Kernel&, std::uint32_t, std::uint64_t group) { reroute(group); }

void ServiceRegions::reroute(std::size_t number) {
  Group& group = groups_[number];
  std::vector<traffic::RegionNow> now;
  for (const ServiceProcess* zone : group.zones) now.push_back(zone->region_now());
  const auto routing = group.policy.look(kernel_.now().seconds().base(), now);
  for (std::size_t z = 0; z < group.zones.size(); ++z) {
    group.zones[z]->take_traffic(
        {.away = routing.away(z), .refused = routing.refused[z], .guests = routing.guests(z)});
  }
  kernel_.cancel(group.timer);
  if (group.policy.next_look() == traffic::kForever) return;
  // Slightly late, because a nanosecond early would be too soon.
  const Seconds due = Seconds(group.policy.next_look()) + milliseconds(1);
  group.timer = kernel_.schedule(sim::SimTime::from(due), sim::EventRank::finish, *this, 0, number);
}

}  // namespace orrery::processes
