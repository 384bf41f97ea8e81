#include "live/s3server/mover.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>

namespace orrery::s3server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr rows::TimeMs kRoundLeastMs = 100;
constexpr rows::TimeMs kRoundMostMs = 60'000;
constexpr int kRestShare = 19;  // after a round the mover rests for this many times its duration

bool has_rule(const storage::KeepRule& keep) {
  return keep.everything || keep.newest > 0 || keep.window > Seconds() || keep.milestones ||
         keep.milestone_every > 0;
}

upkeep::MoveSetting move_setting(const MoverOptions& options, const std::atomic<bool>& stopping) {
  upkeep::MoveSetting setting{.day_ms = options.day_ms, .promote_ms = options.promote_ms};
  setting.keeps_checkpoints = std::ranges::any_of(
      options.places, [](const storage::KeepPlace& place) { return has_rule(place.keep); });
  setting.stop = [&stopping] { return stopping.load(); };
  return setting;
}

Result<void> keep_nothing(const std::vector<storage::LifecycleEvent>&) { return {}; }

}  // namespace

storage::LifecyclePolicy move_policy(const MoverOptions& options,
                                     const std::vector<store::Tier>& tiers) {
  storage::LifecyclePolicy policy{.places = upkeep::places_of(tiers)};
  for (storage::KeepPlace& place : policy.places) {
    const auto told = std::ranges::find(options.places, place.name, &storage::KeepPlace::name);
    if (told != options.places.end()) place = *told;
  }
  return policy;
}

Mover::Mover(store::Store& store, MoverOptions options, Log log)
    : options_(std::move(options)),
      log_(std::move(log)),
      places_(store, move_setting(options_, stopping_)),
      driver_(places_, keep_nothing, move_policy(options_, store.setting().tiers), {}),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Mover::~Mover() {
  stopping_ = true;
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Mover::round(const std::stop_token& stop) {
  // tick() has read the clock, so a clock that was set since the round began is in doubt by now.
  const auto tick = driver_.tick([&] { return stop.stop_requested() || !options_.may(); });
  if (!tick) return log_("the tiers could not be listed: " + tick.error().front().what);
  ++counts_.rounds;
  counts_.waiting = tick->items;
  counts_.bytes = places_.bytes_moved();
  for (const storage::LifecycleDone& done : tick->done) {
    using enum storage::LifecycleActionKind;
    if (done.action.kind == alert) {
      log_(done.action.item + ": " + done.action.why);
    } else if (!done.good && done.said == upkeep::kChangedMeanwhile) {
      continue;  // the next look will see the new state
    } else if (!done.good) {
      ++counts_.failed;
      log_(fmt::format("{} of {} on tier {} failed: {}", word_of(done.action.kind),
                       done.action.item, done.action.place, done.said));
    } else {
      ++(done.action.kind == copy     ? counts_.copies
         : done.action.kind == verify ? counts_.verified
                                      : counts_.removed);
    }
  }
}

void Mover::run(const std::stop_token& stop) {
  const rows::TimeMs period =
      std::clamp<rows::TimeMs>(options_.day_ms / 100, kRoundLeastMs, kRoundMostMs);
  std::mutex mutex;
  std::condition_variable_any wake;
  auto rest = std::chrono::milliseconds(period);
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex);
      wake.wait_for(lock, stop, rest, [] { return false; });
    }
    if (stop.stop_requested()) break;
    if (!options_.may()) continue;
    const auto began = Clock::now();
    const std::uint64_t before = counts_.copies + counts_.verified + counts_.removed;
    round(stop);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began);
    // While there is work, one action often makes the next one possible.
    const bool busy = counts_.copies + counts_.verified + counts_.removed > before;
    rest = busy ? std::chrono::milliseconds(kRoundLeastMs / 10)
                : std::max(std::chrono::milliseconds(period), kRestShare * took);
  }
}

}  // namespace orrery::s3server
