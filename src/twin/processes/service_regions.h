// The zones of services that take each other's traffic, in a run: one policy per service
// (traffic/failover.h), asked whenever replicas of a zone start or stop, an hour begins, or it is
// time to give up a zone that is down.
//
// A zone carries what its running replicas carry within the objective. Without running replicas it
// is down, whatever the cause. A zone that comes back regains its users as its replicas start to
// answer.
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
  // Zones of one workload must be next to each other in `services`. The arguments must outlive the
  // object.
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
