// The zones of services that take each other's traffic, in a run: one policy a service
// (traffic/failover.h), looked at whenever replicas of a zone come or go, an hour begins, or a zone
// that is down is to be given up.
//
// A zone carries what its replicas that stand carry within the objective; with none of them it is
// down, whatever took them: a site without power, or one host after the other. A zone that is back
// has its users as its replicas answer, one after the other.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/sim/kernel.h"
#include "layers/traffic/failover.h"
#include "twin/processes/service_process.h"

namespace orrery::processes {

class ServiceRegions final : public sim::EventHandler, private ZoneObserver {
 public:
  // Zones of one workload follow each other in `services`. All outlive it.
  ServiceRegions(sim::Kernel& kernel, std::span<ServiceProcess* const> services);
  ~ServiceRegions();
  ServiceRegions(const ServiceRegions&) = delete;
  ServiceRegions& operator=(const ServiceRegions&) = delete;

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  struct Group {
    std::vector<ServiceProcess*> zones;
    traffic::FailoverPolicy policy;
    sim::TimerId timer;
  };
  void zone_changed(const ServiceProcess& zone) override;
  void reroute(std::size_t group);

  sim::Kernel& kernel_;
  std::vector<Group> groups_;
  std::map<world::ProcessIndex, std::size_t> group_of_;
};

}  // namespace orrery::processes
