// The store's mover: a thread that applies the lifecycle policy (storage/lifecycle_driver.h) to the
// store's tiers (upkeep/tier_places.h), within its limits of pace and hours.
//
// A round walks the rows of all buckets. It starts a hundredth of a day after the previous one, but
// after at most a minute, and rounds take at most a twentieth of the time, however many rows there
// are. A failure is logged once and retried with growing delays. A stop interrupts a copy between
// two pieces; the rest is swept later.
#pragma once

#include <atomic>
#include <thread>

#include "layers/storage/lifecycle_driver.h"
#include "live/upkeep/tier_places.h"

namespace orrery::s3server {

struct MoverOptions {
  bool on = true;
  std::vector<storage::KeepPlace> places = {};  // rules, pace and hours of tiers, by name
  rows::TimeMs promote_ms = 0;
  rows::TimeMs day_ms = store::kDayMs;
  // Asked before each round and each action. Returns false while another gateway moves objects, or
  // while the clock is in doubt.
  std::function<bool()> may = [] { return true; };
};

// What was moved since the start; may be read from any thread.
struct MoveCounts {
  std::atomic<std::uint64_t> rounds = 0;
  std::atomic<std::uint64_t> copies = 0;
  std::atomic<std::uint64_t> verified = 0;
  std::atomic<std::uint64_t> removed = 0;
  std::atomic<std::uint64_t> failed = 0;
  std::atomic<std::uint64_t> bytes = 0;    // bytes copied
  std::atomic<std::uint64_t> waiting = 0;  // items that the last round found in a wrong tier
};

// Returns the policy that these options describe for the store's tiers.
storage::LifecyclePolicy move_policy(const MoverOptions& options,
                                     const std::vector<store::Tier>& tiers);

class Mover {
 public:
  using Log = std::function<void(const std::string&)>;
  Mover(store::Store& store, MoverOptions options, Log log);
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  const MoveCounts& counts() const { return counts_; }

 private:
  void run(const std::stop_token& stop);
  void round(const std::stop_token& stop);

  MoverOptions options_;
  Log log_;
  MoveCounts counts_;
  std::atomic<bool> stopping_ = false;
  upkeep::TierPlaces places_;
  storage::LifecycleDriver driver_;
  std::jthread thread_;
};

}  // namespace orrery::s3server
