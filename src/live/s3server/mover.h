// The store's mover: a thread that drives the lifecycle policy (storage/lifecycle_driver.h) on the
// store's tiers (upkeep/tier_places.h), at its pace and in its hours.
//
// A round walks the rows of all buckets. It comes a hundredth of a day after the last, a minute at
// the most, and takes at most a twentieth of the time, however many rows there are. What fails is
// logged once and asked for again, later and later. Stopped, it ends between two pieces of a copy;
// what that leaves is swept.
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
  std::function<bool()> may = [] { return true; };  // else it waits: another gateway moves
};

// What was moved since the start; read from any thread.
struct MoveCounts {
  std::atomic<std::uint64_t> rounds = 0;
  std::atomic<std::uint64_t> copies = 0;
  std::atomic<std::uint64_t> verified = 0;
  std::atomic<std::uint64_t> removed = 0;
  std::atomic<std::uint64_t> failed = 0;
  std::atomic<std::uint64_t> bytes = 0;    // copied
  std::atomic<std::uint64_t> waiting = 0;  // items that the last round found to be elsewhere
};

// The policy of these options over the store's tiers.
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
