// The event kernel: a clock, a queue of timers and a rule for ties. No statics: any number of
// kernels run side by side.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/sim/sim_time.h"
#include "core/sim/trace.h"

namespace orrery::sim {

class Kernel;

// Whoever waits for timers. `kind` and `data` are its own: they come back as they were given.
class EventHandler {
 public:
  virtual void on_event(Kernel& kernel, std::uint32_t kind, std::uint64_t data) = 0;

 protected:
  ~EventHandler() = default;
};

// Which of several events at one instant comes first. finish before start: what ends frees what a
// start may take; settle last: a model recomputes once after all changes of the instant.
enum class EventRank : std::uint8_t { finish = 0, start = 1, control = 2, settle = 3 };

// A timer that may be cancelled; a default one names no timer.
struct TimerId {
  std::uint32_t slot = 0xffffffff;
  std::uint32_t generation = 0;

  bool operator==(const TimerId&) const = default;
};

// What a step means. The kernel takes the pending event that is first by
//   (time, rank, order of scheduling),
// sets the clock to its time and hands it to its handler. The handler may schedule further events,
// at the same instant or later; an event for the past is moved to the present. An event scheduled
// during an instant runs in that instant if its time is now, after all events already pending with
// the same rank, and before any of a higher rank. So the order of events depends on nothing but
// the calls made: not on addresses, hashing, threads or the order of equal keys in a heap. An event
// at never() stays pending and does not run.
//
// What cancelling means. A cancelled timer never reaches its handler, also where it is due at this
// very instant. A timer has fired when its handler is called: inside the handler it is pending no
// more, and cancelling it, then or later, does nothing.
//
// What a handler that fails means. It cannot tell the kernel, which knows no errors: it keeps its
// failure where its owner looks for it, and either schedules nothing more, so that the others run
// on without it, or calls stop(). Then run() returns after this event, the clock at its time, all
// other events pending as they were, those of the same instant too; a further run() goes on. Nobody
// throws through the kernel. Should an exception pass (out of memory), the event counts as run and
// the kernel is as it would be after stop().
//
// What a handler that dies means. The kernel holds references: a handler must outlive its timers.
// Whoever may die with timers pending calls forget(*this) in its destructor; what was due to it,
// now or later, is then cancelled. It may die in its own event, for the kernel does not touch a
// handler after the call, and in another's. A handler that lives on without a part of itself, such
// as a job that is cancelled, cancels that part's timers by their ids.
// step() and run() are not called from inside an event.
class Kernel {
 public:
  explicit Kernel(std::uint64_t seed = 1, TraceSink* trace = nullptr)
      : seed_(seed), trace_(trace) {}

  SimTime now() const { return now_; }
  std::uint64_t seed() const { return seed_; }
  RandomStream stream(std::string_view name) const { return RandomStream(seed_, name); }

  TimerId schedule(SimTime at, EventRank rank, EventHandler& handler, std::uint32_t kind = 0,
                   std::uint64_t data = 0);
  void cancel(TimerId timer);
  bool is_pending(TimerId timer) const;
  // Cancels all timers of a handler; walks all that are pending.
  void forget(const EventHandler& handler);

  // Runs one event; false when none is left.
  bool step();
  // Runs all events up to and including `until`, where the clock then stands; without a limit it
  // stands at the last event's time, and after stop() at that event's. Gives the number of events.
  std::uint64_t run(SimTime until = SimTime::never());
  // Called by a handler: run() returns after its event.
  void stop() { stopped_ = true; }

  std::uint64_t events_run() const { return events_run_; }
  std::size_t pending() const { return heap_.size() - cancelled_; }

  void trace(TraceKind kind, std::string_view track, std::string_view name,
             double value = 0) const {
    if (trace_) trace_->record({now_, kind, track, name, value});
  }
  bool is_traced() const { return trace_ != nullptr; }

 private:
  // A timer's place in the order; `order` is the rank in the top bits and a running number below.
  struct Entry {
    std::int64_t time;
    std::uint64_t order;
    std::uint32_t slot;
    std::uint32_t generation;

    bool before(const Entry& o) const { return time != o.time ? time < o.time : order < o.order; }
  };
  struct Slot {
    EventHandler* handler = nullptr;
    std::uint64_t data = 0;
    std::uint32_t kind = 0;
    std::uint32_t generation = 0;
  };

  void push(Entry e);
  void pop_top();
  void sift_down(std::size_t at, Entry e);
  bool drop_cancelled();
  void compact();
  void release(std::uint32_t slot);

  SimTime now_;
  std::uint64_t seed_;
  TraceSink* trace_;
  std::uint64_t scheduled_ = 0;
  std::uint64_t events_run_ = 0;
  bool stopped_ = false;
  std::size_t cancelled_ = 0;  // entries still in the heap whose timer is gone
  std::vector<Entry> heap_;    // four children a parent: fewer levels, one cache line of children
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace orrery::sim
