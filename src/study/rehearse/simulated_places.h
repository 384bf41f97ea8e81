// Places in simulated time, in as much detail as the lifecycle policy can see: items that a writer
// begins and finishes, copies with their stamps and contents, places that become unavailable.
//
// A content is a number: two copies are equal if their numbers are. Everything that was ever
// removed is kept with what was left at that moment, so that a test can check whether it should
// have been removed.
//
// The faults that can be injected, and what a driver of storage/lifecycle.h must make of them.
// Survivable: nothing that was good is lost, and when the faults end every rule is met.
//   fail_next        the next actions fail without effect
//   lose_answers     the next actions are carried out and reported as failed
//   tear_next        the next copies stop half-way and are reported as failed
//   spoil_next       the next copies have wrong bytes, and are reported as good
//   set_away         a place does not answer for a while
//   hide             an item is not listed at a place for a while, although it exists
//   begin without finish   the writer never finishes
//   remove_by_other  another program removes a copy; what depends on it must stop
//   jump             the wall clock is set forward or back; the machine's own clock is not
//   reboot           the machine restarts, and its own clock with it
//   the driver dies at any `point`, and starts again from its journal
// Survivable with a person: rewrite after the copy was read (a conflict, all copies stay). Not
// survivable: rot after a copy was read, until it is read again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layers/storage/lifecycle_port.h"

namespace orrery::rehearse {

struct SimulatedCopy {
  std::uint64_t content = 0;
  bool complete = false;
  int stamp = 0;
  Seconds written;
};

struct SimulatedItem {
  std::string run;
  std::int64_t step = 0;
  Seconds made;
  Bytes size;
  bool milestone = false;
  bool held = false;
  std::uint64_t content = 0;  // what its writer wrote last
};

// A copy that the driver removed or set aside, and the good copies that were left.
struct SimulatedRemoval {
  std::string item;
  std::string place;
  bool was_good = false;
  std::vector<std::string> good_left;  // places
  std::optional<Seconds> lain;         // how long it was set aside before it was deleted for good
};

struct SimulatedAside {
  std::string item;
  SimulatedCopy copy;
  Seconds since;  // time that really passed
};

class SimulatedPlaces final : public storage::LifecyclePort {
 public:
  explicit SimulatedPlaces(std::vector<std::string> places);

  void pass(Seconds span) { now_ += span, up_ += span, passed_ += span; }
  void jump(Seconds span) { now_ += span; }
  void reboot() { ++boots_, up_ = Seconds(); }
  // Sets a function called at every point at which a driver can die: before and after each effect.
  void on_point(std::function<void()> point) { point_ = std::move(point); }

  void begin(const std::string& place, const std::string& id, const SimulatedItem& item);
  void finish(const std::string& place, const std::string& id);
  void rewrite(const std::string& place, const std::string& id);
  void rot(const std::string& place, const std::string& id);
  void remove_by_other(const std::string& place, const std::string& id);
  void hold(const std::string& id, bool held) { items_.at(id).held = held; }

  void fail_next(int actions) { to_fail_ = actions; }
  void lose_answers(int actions) { answers_to_lose_ = actions; }
  void tear_next(int copies) { to_tear_ = copies; }
  void spoil_next(int copies) { to_spoil_ = copies; }
  void set_away(const std::string& place, bool away);
  void hide(const std::string& place, const std::string& id, bool hidden);
  bool is_calm() const;  // true if no fault is pending

  Result<storage::LifecycleLook> look() override;
  Result<storage::LifecycleOutcome> act(const storage::LifecycleAction& action) override;
  Seconds now() const override { return now_; }

  const std::map<std::string, SimulatedItem>& items() const { return items_; }
  const SimulatedCopy* copy_at(const std::string& place, const std::string& id) const;
  bool is_good_at(const std::string& place, const std::string& id) const;
  const std::vector<SimulatedRemoval>& removals() const { return removals_; }

 private:
  using Copies = std::map<std::string, SimulatedCopy>;  // by item

  void point() const {
    if (point_) point_();
  }
  bool has_needs(const storage::LifecycleAction& action) const;
  Result<storage::LifecycleOutcome> verify(const storage::LifecycleAction& action);
  Result<storage::LifecycleOutcome> copy(const storage::LifecycleAction& action);
  Result<storage::LifecycleOutcome> remove(const storage::LifecycleAction& action);
  Result<storage::LifecycleOutcome> purge(const storage::LifecycleAction& action);
  void set_aside(const storage::LifecycleAction& action, const SimulatedCopy& copy);
  std::vector<std::string> good_places(const std::string& id) const;

  Seconds now_ = seconds(1'700'000'000);
  std::vector<std::string> names_;
  std::map<std::string, Copies> places_;
  std::map<std::string, SimulatedItem> items_;
  std::set<std::string> away_;
  std::set<std::pair<std::string, std::string>> hidden_;  // place, item
  std::vector<SimulatedRemoval> removals_;
  std::map<std::pair<std::string, std::string>, SimulatedAside> aside_;  // place, name
  Seconds up_;
  Seconds passed_;
  int boots_ = 1;
  std::function<void()> point_;
  std::uint64_t contents_ = 0;
  int stamps_ = 0;
  int to_fail_ = 0;
  int answers_to_lose_ = 0;
  int to_tear_ = 0;
  int to_spoil_ = 0;
};

}  // namespace orrery::rehearse
