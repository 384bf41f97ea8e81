// When hosts fail and come back.
//
//   time to the next fault of a host: Weibull with the mean of its rate, exponential at shape 1,
//   from the run's beginning and from every repair (failure/lifetime.h)
//   rate = factor * base * (lemon ? m : 1), and separately spot + links
// There is one factor per fleet and replication: the fleet's true rate is as uncertain as published
// rates differ (machine/failure_source.h), so the spread over replications includes both chance and
// this uncertainty. The first replication uses the middle. Repair is an automatic reset for all
// hosts and work by a person for some (failure/spares.h), or takes the design's own mean; a
// provider swaps a rented host. Every host has its own random stream, so a change elsewhere in the
// design does not move its faults. A silent fault stays undetected for an exponential time with
// mean kSilentMean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/sim/kernel.h"
#include "layers/failure/causes.h"
#include "model/figures/assumptions.h"
#include "twin/world/host_index.h"

namespace orrery::world {

class World;

using figures::assumptions::kProviderSwap;
using figures::assumptions::kSilentMean;

inline constexpr std::string_view kLinkFault = "network port or cable";
inline constexpr std::string_view kStormFault = "NIC that pauses the network";

// Names of faults as a replication counts them: causes, hosts taken back, links, NICs that pause,
// shared parts.
std::vector<std::string> fault_names(const std::vector<failure::FaultCause>& causes);

class HostLives final : public sim::EventHandler {
 public:
  // `rate_factors`: one per fleet.
  HostLives(World& world, const IndexedVector<design::FleetIndex, double>& rate_factors);
  ~HostLives();
  HostLives(const HostLives&) = delete;
  HostLives& operator=(const HostLives&) = delete;

  // The host is in service again: draws its next fault.
  void renew(design::FleetIndex fleet, HostIndex host);
  // Sends the host to repair.
  void send_to_repair(design::FleetIndex fleet, HostIndex host);
  // The policy classed the host as a lemon: a person replaces the faulty part, and the host comes
  // back with the common failure rate. It is assumed that the right part is found.
  void send_to_hands(design::FleetIndex fleet, HostIndex host);

  // A part that the host needs is out until then: the host comes back no earlier, and its next
  // fault is drawn again.
  void hold(design::FleetIndex fleet, HostIndex host, sim::SimTime until);

  // By cause; then hosts taken back, links and NICs that pause.
  const std::vector<std::uint64_t>& faults() const { return faults_; }
  // Returns the fault of runs that such a NIC stops if no watchdog acts.
  const failure::FaultCause& hang() const { return hang_; }
  // Returns how many faults are still undetected.
  std::uint64_t silent() const { return silent_; }

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kFault, kFound, kMended };
  struct Host {
    RandomStream random;
    double base_rate = 0;    // per second
    double common_rate = 0;  // per second, for a host that is not a lemon
    sim::TimerId next;       // the next fault, or the detection of the present one
    sim::SimTime held_until;
    bool is_held = false;    // held by a shared part; the host itself is not faulty
    bool is_silent = false;  // computes wrong results, undetected
    bool is_lone = false;    // the next fault is not the host's own: taken back, or a link
  };
  // Returns the rate of faults that do not depend on the host's age.
  double lone_rate(design::FleetIndex fleet) const {
    return spot_rate_[fleet] + link_rate_[fleet] + storm_rate_[fleet];
  }
  Seconds next_fault(Host& host, design::FleetIndex fleet);

  Host& host(design::FleetIndex fleet, HostIndex number) { return hosts_[fleet][number]; }
  void fail(design::FleetIndex fleet, HostIndex number);
  // Called when a silent fault is detected.
  void find(design::FleetIndex fleet, HostIndex number);
  const failure::FaultCause& draw_cause(Host& host, design::FleetIndex fleet);
  sim::TimerId after(Seconds wait, Kind kind, design::FleetIndex fleet, HostIndex number);

  World& world_;
  IndexedVector<design::FleetIndex, IndexedVector<HostIndex, Host>> hosts_;
  IndexedVector<design::FleetIndex, double> spot_rate_;
  IndexedVector<design::FleetIndex, double> link_rate_;
  IndexedVector<design::FleetIndex, double> storm_rate_;
  failure::FaultCause link_{.name = std::string(kLinkFault),
                            .group = failure::FaultGroup::network,
                            .scope = failure::FaultScope::host};
  failure::FaultCause storm_{.name = std::string(kStormFault),
                             .group = failure::FaultGroup::network,
                             .scope = failure::FaultScope::host};
  failure::FaultCause hang_{.name = std::string(kStormFault),
                            .group = failure::FaultGroup::network,
                            .scope = failure::FaultScope::process,
                            .sight = failure::FaultSight::timeout};
  std::vector<std::uint64_t> faults_;
  std::uint64_t silent_ = 0;
};

}  // namespace orrery::world
