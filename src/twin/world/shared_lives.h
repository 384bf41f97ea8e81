// When leaf switches and power units fail. Each takes a group of hosts down with it.
//
//   time to the next fault of a part: exponential with the design's rate, from when it works
//   out for: exponential with mean machine::kSharedRepair; its hosts come back together
// Groups are consecutive hosts of a fleet (machine/failure_source.h). A job on a group is notified
// of the fault once. Hosts that are in repair come back no earlier than their part.
#pragma once

#include <vector>

#include "core/base/random.h"
#include "core/sim/kernel.h"
#include "layers/failure/causes.h"
#include "model/machine/failure_source.h"
#include "twin/world/host_index.h"

namespace orrery::world {

class World;

class SharedLives final : public sim::EventHandler {
 public:
  explicit SharedLives(World& world);
  ~SharedLives();
  SharedLives(const SharedLives&) = delete;
  SharedLives& operator=(const SharedLives&) = delete;

  const std::vector<std::uint64_t>& faults() const { return faults_; }  // by SharedPart
  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  struct Part {
    design::FleetIndex fleet;
    HostIndex first;
    int hosts = 0;
    machine::SharedPart kind = machine::SharedPart::leaf_switch;
    double rate = 0;  // per second
    RandomStream random;
  };

  void renew(std::size_t part, sim::SimTime from);

  World& world_;
  std::vector<Part> parts_;
  std::vector<std::uint64_t> faults_;
};

}  // namespace orrery::world
