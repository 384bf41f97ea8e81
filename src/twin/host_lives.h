// When hosts fail and come back.
//
//   time to the next fault of a host: exponential with its rate
//   rate = factor * base * (lemon ? m : 1) + spot
// The factor is one a replication: the fleet's true rate is as uncertain as the published ones
// differ (machine/failure_source.h), so the spread over replications holds both chance and
// ignorance; the first replication takes the middle. Repair: a reset for all and hands for some
// (failure/spares.h), or the design's own mean; a rented host is swapped by its provider. Every
// host has a random stream of its own, so that a change of the design elsewhere leaves its faults
// where they were. A silent fault stays unseen for a while: exponential with kSilentMean.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "failure/causes.h"
#include "sim/kernel.h"

namespace orrery::twin {

class World;

// How long a provider takes to put another host in the place of a rented one: assumed.
inline constexpr Seconds kProviderSwap = minutes(10);
// Until wrong results are noticed in the loss or by a check of a checkpoint: assumed.
inline constexpr Seconds kSilentMean = hours(1);

class HostLives final : public sim::EventHandler {
 public:
  // `rate_factors`: one a fleet.
  HostLives(World& world, const std::vector<double>& rate_factors);
  ~HostLives();
  HostLives(const HostLives&) = delete;
  HostLives& operator=(const HostLives&) = delete;

  // The host is in service again: its next fault is drawn.
  void renew(std::size_t fleet, int host);
  // The host went to repair.
  void send_to_repair(std::size_t fleet, int host);
  // It was taken for a lemon: a person replaces what is wrong with it, and it comes back like the
  // others. That the right part is found is an assumption.
  void send_to_hands(std::size_t fleet, int host);

  const std::vector<std::uint64_t>& faults() const { return faults_; }  // by cause; spot is last
  // Of them, those that nobody has noticed yet.
  std::uint64_t silent() const { return silent_; }

  void on_event(sim::Kernel& kernel, std::uint32_t kind, std::uint64_t data) override;

 private:
  enum Kind : std::uint32_t { kFault, kFound, kMended };
  struct Host {
    RandomStream random;
    double base_rate = 0;    // a second
    double common_rate = 0;  // of one that is no lemon
  };

  Host& host(std::size_t fleet, int number) {
    return hosts_[fleet][static_cast<std::size_t>(number)];
  }
  void fail(std::size_t fleet, int number);
  // A silent fault is noticed.
  void find(std::size_t fleet, int number);
  const failure::FaultCause& draw_cause(Host& host, std::size_t fleet);
  void after(Seconds wait, Kind kind, std::size_t fleet, int number);

  World& world_;
  std::vector<std::vector<Host>> hosts_;
  std::vector<double> spot_rate_;
  std::vector<std::uint64_t> faults_;
  std::uint64_t silent_ = 0;
};

}  // namespace orrery::twin
