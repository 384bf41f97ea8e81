#include "twin/world/slot_book.h"

#include <algorithm>

#include "twin/world/process.h"

namespace orrery::world {
namespace {

// The causes that a free slot may be booked under instead of idle.
constexpr Cause kWaits[] = {Cause::requeue, Cause::no_host, Cause::stranded};

}  // namespace

SlotBook::SlotBook(const FleetPart& fleet, const sim::Kernel& kernel, PowerMeters& meters,
                   RunRecorder& recorder, FreeSlotsObserver& observer)
    : fleet_(fleet),
      kernel_(kernel),
      meters_(meters),
      recorder_(recorder),
      observer_(observer),
      ledger_(std::int64_t{fleet.all_hosts()} * fleet.slots_per_host),
      free_(std::int64_t{fleet.hosts} * fleet.slots_per_host) {}

void SlotBook::shift(std::int64_t slots, const HostUse& from, const HostUse& to) {
  if (slots == 0) return;
  ledger_.move(kernel_.now(), from.cause, to.cause, slots);
  const double hosts = static_cast<double>(slots) / fleet_.slots_per_host;
  if (from.draw != to.draw || from.highest != to.highest) {
    meters_.change(fleet_.site, (to.draw - from.draw) * hosts, (to.highest - from.highest) * hosts);
  }
  if (fleet_.accelerators_per_host > 0) recorder_.move(from.cause, to.cause, slots);
}

// Books `slots` more of the free slots under this cause instead of idle.
void SlotBook::book_free(Cause cause, std::int64_t slots) {
  const HostUse idle = resting(fleet_, Cause::idle);
  const HostUse waits = resting(fleet_, cause);
  if (slots > 0) shift(slots, idle, waits);
  if (slots < 0) shift(-slots, waits, idle);
  of_free_[at(cause)] += slots;
}

// Causes that lose slots return them before others take them.
void SlotBook::recount() {
  ByCause<std::int64_t> now{};
  std::int64_t left = free_;
  for (const auto& [process, claim] : claims_) {
    const std::int64_t own = std::min(left, claim.slots);
    now[at(claim.cause)] += own;
    left -= own;
  }
  now[at(Cause::stranded)] += std::min(left, wanted_);
  for (const bool gives : {true, false}) {
    for (const Cause c : kWaits) {
      const std::int64_t more = now[at(c)] - of_free_[at(c)];
      if ((more < 0) == gives) book_free(c, more);
    }
  }
}

void SlotBook::take(std::int64_t slots, const HostUse& to) {
  for (const Cause c : kWaits) book_free(c, -of_free_[at(c)]);
  shift(slots, resting(fleet_, Cause::idle), to);
  free_ -= slots;
  recount();
}

void SlotBook::give(std::int64_t slots, const HostUse& from) {
  shift(slots, from, resting(fleet_, Cause::idle));
  free_ += slots;
  recount();
  for (Process* process : growers_) process->room_came();
  observer_.slots_came_free(fleet_.site);
}

void SlotBook::claim(ProcessIndex process, std::int64_t slots, Cause cause) {
  if (slots > 0) {
    claims_[process] = {.slots = slots, .cause = cause};
  } else {
    claims_.erase(process);
  }
  recount();
}

void SlotBook::want(std::int64_t slots) {
  wanted_ += slots;
  recount();
}

void SlotBook::call_for_room(Process& process, bool wants) {
  std::erase(growers_, &process);
  if (wants) growers_.push_back(&process);
}

void SlotBook::mark_busy(double slots, double share) {
  if (fleet_.accelerators_per_host > 0) recorder_.mark_busy(slots, share);
}

}  // namespace orrery::world
