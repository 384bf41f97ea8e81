// The lifecycle policy with its live driver on simulated places that fail, where the driver is
// killed between any two effects: no good copy is lost, and once the faults end the rules are met.
#include "live/agent/lifecycle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/base/random.h"
#include "layers/storage/lifecycle_wants.h"
#include "study/rehearse/simulated_places.h"

namespace orrery {
namespace {

using agent::LifecycleAgent;
using rehearse::SimulatedItem;
using rehearse::SimulatedPlaces;
using rehearse::SimulatedRemoval;
using storage::KeepPlace;
using storage::LifecycleEvent;
using storage::LifecycleMemory;
using storage::LifecyclePolicy;

// Thrown by the simulated places to end a driver at that point.
struct Killed {};

constexpr const char* kRun = "run";

struct Laid {
  LifecyclePolicy policy;
  std::string writer;  // the place that the trainer writes to
  std::vector<std::string> names;
};

// Either node disks in front of a file system and a bucket, or a file system and a bucket.
Laid draw_policy(RandomStream& random) {
  Laid laid;
  const auto newest = [&](int least) { return least + static_cast<int>(random.below(3)); };
  KeepPlace hot{.name = "hot", .keep = {.newest = newest(1)}};
  if (random.below(3) == 0) hot.keep.window = minutes(40), hot.keep.spacing = minutes(10);
  KeepPlace cold{.name = "cold", .keep = {.milestones = true}};
  if (random.below(2) == 0) cold.keep.milestone_every = 4;
  if (random.below(2) == 0) cold.keep.newest = newest(1);
  if (random.below(4) == 0) cold.keep.everything = true;
  if (random.below(4) == 0) cold.pace = BytesPerSecond(1e7);
  if (random.below(2) == 0) {
    laid.policy.places.push_back(
        {.name = "nvme", .durable = false, .written = true, .keep = {.newest = newest(0)}});
  } else {
    hot.written = true;
  }
  laid.policy.places.push_back(hot);
  laid.policy.places.push_back(cold);
  if (cold.keep.everything && random.below(2) == 0) laid.policy.copies_min = 2;
  if (random.below(3) == 0) laid.policy.reread = hours(1);
  if (random.below(3) != 0) laid.policy.grace = hours(static_cast<double>(random.below(3)));
  laid.policy.clock_rest = hours(static_cast<double>(random.below(4)));
  laid.writer = laid.policy.places.front().name;
  for (const KeepPlace& place : laid.policy.places) laid.names.push_back(place.name);
  return laid;
}

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed)
      : random_(seed, "lifecycle"), laid_(draw_policy(random_)), places_(laid_.names) {
    places_.on_point([this] { at_point(); });
  }

  void run(int rounds) {
    for (int round = 0; round < rounds && fault_.empty(); ++round) {
      write();
      disturb();
      tick();
      places_.pass(seconds(1 + static_cast<double>(random_.below(300))));
    }
    calm();
    // Long enough for checkpoints that a clock dated ahead.
    for (int round = 0; round < 360 && fault_.empty(); ++round) {
      tick();
      places_.pass(minutes(10));
    }
    if (fault_.empty()) check_rules_met();
  }

  const std::string& fault() const { return fault_; }
  int kills() const { return kills_; }
  std::size_t purges() const { return purges_; }
  std::size_t removals() const { return places_.removals().size(); }

 private:
  void at_point() {
    for (; seen_ < places_.removals().size(); ++seen_) check(places_.removals()[seen_]);
    if (!is_calm_ && random_.below(25) == 0) throw Killed{};
  }

  void write() {
    if (!writing_.empty() && random_.below(3) != 0) {
      // One in ten is never finished, because its writer died.
      if (random_.below(10) != 0) places_.finish(laid_.writer, writing_);
      writing_.clear();
    }
    if (!writing_.empty() || random_.below(2) == 0) return;
    // A run that is set back repeats its step numbers.
    step_ = random_.below(15) == 0 ? std::max<std::int64_t>(0, step_ - 3) : step_ + 1;
    writing_ = "item-" + std::to_string(++count_);
    places_.begin(laid_.writer, writing_,
                  {.run = kRun,
                   .step = step_,
                   .made = places_.now(),
                   .size = gigabytes(1),
                   .milestone = random_.below(6) == 0,
                   .held = random_.below(20) == 0});
  }

  void disturb() {
    const auto some_item = [&] {
      return "item-" + std::to_string(1 + random_.below(static_cast<std::uint64_t>(count_)));
    };
    const auto some_place = [&] { return laid_.names[random_.below(laid_.names.size())]; };
    if (count_ == 0) return;
    switch (random_.below(16)) {
      case 0:
        return places_.fail_next(1 + static_cast<int>(random_.below(5)));
      case 1:
        return places_.lose_answers(1 + static_cast<int>(random_.below(3)));
      case 2:
        return places_.tear_next(1);
      case 3:
        return places_.spoil_next(1);
      case 4:
        return places_.set_away(some_place(), random_.below(2) == 0);
      case 5:
        return places_.hide(some_place(), some_item(), random_.below(2) == 0);
      case 6: {
        const std::string item = some_item();
        if (random_.below(4) == 0 && item != writing_) rewritten_.insert(item), rewrite(item);
        return;
      }
      case 7:
        return places_.jump(hours(static_cast<double>(random_.below(13)) - 6));
      case 8:
        return random_.below(3) == 0 ? places_.reboot() : void();
      default:
        return;
    }
  }

  void rewrite(const std::string& item) {
    if (places_.copy_at(laid_.writer, item) != nullptr) places_.rewrite(laid_.writer, item);
  }

  // A driver that starts from the journal and does one round.
  void tick() {
    try {
      if (!agent_) {
        LifecycleMemory memory;
        for (const LifecycleEvent& event : journal_) apply(memory, event);
        agent_ = std::make_unique<LifecycleAgent>(
            places_, [this](const auto& events) { return append(events); }, laid_.policy, memory);
      }
      (void)agent_->tick();
    } catch (const Killed&) {
      ++kills_;
      agent_.reset();
    }
  }

  Result<void> append(const std::vector<LifecycleEvent>& events) {
    at_point();
    journal_.insert(journal_.end(), events.begin(), events.end());
    at_point();
    return {};
  }

  bool is_durable(const std::string& place) const {
    return std::ranges::find(laid_.policy.places, place, &KeepPlace::name)->durable;
  }

  // An item that was rewritten may have complete copies of its old and its new contents: both count
  // as good.
  bool is_good_durably(const std::string& id) const {
    return std::ranges::any_of(laid_.names, [&](const std::string& place) {
      const auto* copy = places_.copy_at(place, id);
      const bool serves =
          rewritten_.contains(id) ? copy && copy->complete : places_.is_good_at(place, id);
      return is_durable(place) && serves;
    });
  }

  bool must_stay(const SimulatedItem& item) const {
    const storage::KeepRule& cold = laid_.policy.places.back().keep;
    const bool milestone =
        item.milestone || (cold.milestone_every > 0 && item.step % cold.milestone_every == 0);
    return item.held || milestone || cold.everything;
  }

  void check(const SimulatedRemoval& removal) {
    const SimulatedItem& item = places_.items().at(removal.item);
    if (removal.item == writing_) fault_ = removal.item + " is being written, and was removed";
    if (removal.lain) ++purges_;
    if (removal.lain && *removal.lain < laid_.policy.grace.value_or(Seconds())) {
      fault_ = removal.item + " was set aside for too short a time";
    }
    if (!removal.was_good || rewritten_.contains(removal.item)) return;
    const auto durable_left = std::ranges::count_if(
        removal.good_left, [&](const std::string& place) { return is_durable(place); });
    if (durable_left > 0) return;
    if (must_stay(item)) fault_ = "too few copies are left of " + removal.item;
    const bool has_newer = std::ranges::any_of(places_.items(), [&](const auto& other) {
      return item.made < other.second.made && is_good_durably(other.first);
    });
    if (!has_newer) fault_ = "the newest safe one was " + removal.item;
  }

  void calm() {
    if (!writing_.empty()) places_.finish(laid_.writer, writing_);
    writing_.clear();
    is_calm_ = true;
    places_.fail_next(0), places_.lose_answers(0), places_.tear_next(0), places_.spoil_next(0);
    for (const std::string& place : laid_.names) {
      places_.set_away(place, false);
      for (int i = 1; i <= count_; ++i) places_.hide(place, "item-" + std::to_string(i), false);
    }
  }

  // Checks independently that every wanted copy exists and is good, and that unwanted ones are
  // gone, unless they are held or there is no newer item to rely on.
  void check_rules_met() {
    const auto look = *places_.look();
    const auto states = states_of(look, agent_->memory(), laid_.policy);
    const storage::ItemState* newest = nullptr;
    for (const auto& item : states) {
      const bool is_newer = !newest || storage::is_older(*newest->view, *item.view);
      // The policy does not rely on an item that was rewritten under the same name: a person has to
      // decide about it.
      const bool is_relied_on =
          is_good_durably(item.view->id) && !item.has(storage::CopyState::conflict);
      if (is_relied_on && is_newer) newest = &item;
    }
    for (const auto& item : states) {
      if (rewritten_.contains(item.view->id)) continue;
      for (std::size_t p = 0; p < laid_.names.size(); ++p) {
        const std::string& place = laid_.names[p];
        const auto* copy = places_.copy_at(place, item.view->id);
        if (copy && !copy->complete && place == laid_.writer) break;
        // Nothing is copied back to the place that the trainer writes to.
        const bool should_be = item.wanted[p] && (copy || place != laid_.writer);
        if (should_be && !places_.is_good_at(place, item.view->id)) {
          fault_ = item.view->id + " is wanted and not good at " + place + described(item);
        }
        // A bad copy may be the only one.
        const bool is_last =
            item.states[p] == storage::CopyState::corrupt && !is_good_durably(item.view->id);
        const bool may_stay =
            item.view->held || is_last || !newest || !storage::is_older(*item.view, *newest->view);
        if (!item.wanted[p] && copy && !may_stay) {
          fault_ = item.view->id + " is not wanted and still at " + place + described(item);
        }
      }
    }
  }

  std::string described(const storage::ItemState& item) const {
    std::string text;
    for (std::size_t p = 0; p < laid_.names.size(); ++p) {
      const auto attempt =
          agent_->memory().attempts.find("verify/" + laid_.names[p] + "/" + item.view->id);
      text += "\n  " + laid_.names[p] + (item.wanted[p] ? " wanted" : "") + ", state " +
              std::to_string(static_cast<int>(item.states[p])) +
              (attempt == agent_->memory().attempts.end()
                   ? ""
                   : ", last read tried at " + std::to_string(attempt->second.last.base()));
    }
    return text;
  }

  RandomStream random_;
  Laid laid_;
  SimulatedPlaces places_;
  std::unique_ptr<LifecycleAgent> agent_;
  std::vector<LifecycleEvent> journal_;
  std::set<std::string> rewritten_;
  std::string writing_;
  std::string fault_;
  std::int64_t step_ = 0;
  int count_ = 0;
  int kills_ = 0;
  std::size_t purges_ = 0;
  std::size_t seen_ = 0;
  bool is_calm_ = false;
};

TEST(Lifecycle, no_good_copy_is_lost_whenever_the_driver_is_killed) {
  const bool is_long = std::getenv("ORRERY_FULL") != nullptr;
  const std::uint64_t schedules = is_long ? 100'000 : 200;
  int kills = 0;
  std::size_t removals = 0, purges = 0;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    Schedule schedule(seed);
    schedule.run(60);
    ASSERT_EQ(schedule.fault(), "") << "seed " << seed;
    kills += schedule.kills();
    removals += schedule.removals();
    purges += schedule.purges();
  }
  // The test is meaningful only if the faults occur and the policy removes copies.
  EXPECT_GT(kills, static_cast<int>(schedules) * 3);
  EXPECT_GT(removals, schedules * 5);
  EXPECT_GT(purges, schedules * 2);
  RecordProperty("kills", kills);
}

}  // namespace
}  // namespace orrery
