// The event kernel: a clock, a queue of timers and a rule for ties. It has no static state, so any
// number of kernels can run side by side.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/sim/sim_time.h"
#include "core/sim/trace.h"

namespace orrery::sim {

class Kernel;

// Receives the events of its timers. The handler chooses `kind` and `data`; they are returned to it
// unchanged.
class EventHandler {
 public:
  virtual void on_event(Kernel& kernel, std::uint32_t kind, std::uint64_t data) = 0;

 protected:
  ~EventHandler() = default;
};

// The order of events at one instant. `finish` comes before `start`, because ending events free
// what starting events may take; `settle` comes last, so that a model recomputes once after all
// changes of the instant.
enum class EventRank : std::uint8_t { finish = 0, start = 1, control = 2, settle = 3 };

// Identifies a timer, for cancelling it. A default TimerId refers to no timer.
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
// What cancelling means. A cancelled timer never reaches its handler, even if it is due at this
// very instant. A timer has fired once its handler is called: from then on it is no longer pending,
// and cancelling it does nothing.
//
// What happens when a handler fails. It cannot report to the kernel, which knows no errors. It
// stores its failure where its owner looks for it, and either schedules nothing more, so that the
// others continue without it, or calls stop(). Then run() returns after this event with the clock
// at its time; all other events stay pending, also those of the same instant, and a further run()
// continues. Handlers do not throw through the kernel. If an exception does pass (out of memory),
// the event counts as run and the kernel is in the same state as after stop().
//
// What happens when a handler is destroyed. The kernel holds references, so a handler must outlive
// its timers. A handler that may be destroyed with timers pending calls forget(*this) in its
// destructor, which cancels all of them. It may be destroyed during its own event, since the kernel
// does not touch a handler after the call, or during another's. A handler that loses only a part of
// itself, such as a job that is cancelled, cancels that part's timers by their ids. step() and
// run() must not be called from inside an event.
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
  // Cancels all timers of a handler; takes time proportional to the number of pending events.
  void forget(const EventHandler& handler);

  // Runs one event; returns false if none is left.
  bool step();
  // Runs all events up to and including `until`, then sets the clock to `until`. Without a limit,
  // or after stop(), the clock stays at the time of the last event run. Returns the number of
  // events run.
  std::uint64_t run(SimTime until = SimTime::never());
  // Called by a handler: run() returns after the current event.
  void stop() { stopped_ = true; }

  std::uint64_t events_run() const { return events_run_; }
  std::size_t pending() const { return heap_.size() - cancelled_; }

  void trace(TraceKind kind, std::string_view track, std::string_view name,
             double value = 0) const {
    if (trace_) trace_->record({now_, kind, track, name, value});
  }
  bool is_traced() const { return trace_ != nullptr; }

 private:
  // A timer's key in the heap; `order` holds the rank in the top bits and a sequence number below.
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
  std::size_t cancelled_ = 0;  // entries still in the heap whose timer was cancelled
  // Four children per parent: fewer levels, and the children share a cache line.
  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace orrery::sim
