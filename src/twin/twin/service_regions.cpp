#include "twin/twin/service_regions.h"

#include "twin/twin/service_process.h"
#include "twin/twin/world.h"

namespace orrery::twin {

ServiceRegions::ServiceRegions(World& world) : world_(world) {
  const std::vector<ServicePlan>& services = world.scenario().services;
  for (std::size_t s = 0; s < services.size(); ++s) {
    if (!services[s].failover) continue;
    const std::size_t first = s;
    std::vector<traffic::Region> regions;
    for (; s < services.size() && services[s].job.workload == services[first].job.workload; ++s) {
      regions.push_back(services[s].failover->region);
      group_of_[s] = groups_.size();
    }
    groups_.push_back({.first = first,
                       .zones = regions.size(),
                       .policy = traffic::FailoverPolicy(std::move(regions)),
                       .timer = {}});
    --s;
  }
}

ServiceRegions::~ServiceRegions() { world_.kernel().forget(*this); }

void ServiceRegions::look(std::size_t service) {
  const auto group = group_of_.find(service);
  if (group != group_of_.end()) reroute(group->second);
}

void ServiceRegions::on_event(sim::Kernel&, std::uint32_t, std::uint64_t group) { reroute(group); }

void ServiceRegions::reroute(std::size_t number) {
  Group& group = groups_[number];
  sim::Kernel& kernel = world_.kernel();
  std::vector<traffic::RegionNow> now;
  for (std::size_t z = 0; z < group.zones; ++z) {
    now.push_back(world_.service(group.first + z).region_now());
  }
  const auto routing = group.policy.look(kernel.now().seconds().base(), now);
  for (std::size_t z = 0; z < group.zones; ++z) {
    world_.service(group.first + z)
        .take_traffic(
            {.away = routing.away(z), .refused = routing.refused[z], .guests = routing.guests(z)});
  }
  kernel.cancel(group.timer);
  if (group.policy.next_look() == traffic::kForever) return;
  // Due a little late rather than a nanosecond early.
  const Seconds due = Seconds(group.policy.next_look()) + milliseconds(1);
  group.timer = kernel.schedule(sim::SimTime::from(due), sim::EventRank::finish, *this, 0, number);
}

}  // namespace orrery::twin
