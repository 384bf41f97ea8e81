// The zones of services that take each other's traffic, in a run: one policy a service
// (traffic/failover.h), looked at whenever replicas of a zone come or go, an hour begins, or a zone
// that is down is to be given up.
//
// A zone carries what its replicas that stand carry within the objective; with none of them it is
// down, whatever took them: a site without power, or one host after the other. A zone that is back
// has its users as its replicas answer, one after the other.
#pragma once

#include <map>
#include <vector>

#include "core/sim/kernel.h"
#include "layers/traffic/failover.h"
#include "twin/twin/scenario.h"

namespace orrery::twin {

class World;

class ServiceRegions final : public sim::EventHandler {
 public:
  // Services are the world's first processes, in the scenario's order.
  explicit ServiceRegions(World& world);
  ~ServiceRegions();
  ServiceRegions(const ServiceRegions&) = delete;
  ServiceRegions& operator=(const ServiceRegions&) = delete;

  // Something about the service's zone has changed; nothing happens where it is alone.
  void look(std::size_t service);
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  struct Group {
    std::size_t first = 0;  // of its zones among the services
    std::size_t zones = 0;
    traffic::FailoverPolicy policy;
    sim::TimerId timer;
  };
  void reroute(std::size_t group);

  World& world_;
  std::vector<Group> groups_;
  std::map<std::size_t, std::size_t> group_of_;  // by service
};

}  // namespace orrery::twin
