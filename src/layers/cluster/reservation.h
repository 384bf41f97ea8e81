// Reservations: nodes set aside at certain times for certain users or, as maintenance, for no jobs
// at all.
//
//   window k = [start + k every, start + k every + length)
//   barred   <=>  the job is no guest, and the time from its start to its limit overlaps a window
// A job with a time limit is never placed across the beginning of a window, so none has to be
// stopped. A job that stays (a training run, a service) is barred only while a window is open: when
// one opens on its nodes, it is stopped and requeued. Guests may use the nodes at all times, as
// with Slurm's FLEX flag. A policy asks which nodes are open to a job that would start at a given
// time; the mask is the whole answer. Wrong: Slurm lets a reservation move to other nodes when some
// of its own are lost; here its nodes are fixed. Two reservations may include the same node.
#pragma once

#include <string>
#include <vector>

#include "layers/cluster/start_gate.h"

namespace orrery::cluster {

struct Reservation {
  std::string name;
  NodeMask nodes;
  sim::SimTime start;
  sim::SimTime length;
  sim::SimTime every;  // period; zero: only once

  struct Window {
    sim::SimTime begin = sim::SimTime::never();
    sim::SimTime end = sim::SimTime::never();
  };
  // Returns the first window that ends after `at`; never if there is none.
  Window window_after(sim::SimTime at) const;
  bool has(int node) const {
    return (nodes[static_cast<std::size_t>(node) / 64] >> (node % 64) & 1) != 0;
  }
};

class ReservationBook {
 public:
  // Adds a reservation (at most 64). A job's guest_of has one bit per reservation, in this order.
  void add(Reservation reservation);
  bool is_empty() const { return all_.empty(); }
  const std::vector<Reservation>& all() const { return all_; }

  bool bars(std::size_t reservation, const QueuedJob& job, sim::SimTime from) const;
  // Returns those nodes of `partition` (null: all of `nodes`) that a job starting at `from` may
  // use; `partition` itself if no reservation bars it. Valid until the next call.
  const NodeMask* open_to(const QueuedJob& job, const NodeMask* partition, sim::SimTime from) const;
  // Returns true if the job may use all these nodes.
  bool is_open(const QueuedJob& job, std::span<const NodeShare> where, sim::SimTime from) const;
  // Returns the next time after `at` at which a window opens or ends; never if there is none.
  sim::SimTime next_change(sim::SimTime at) const;
  // Returns the reservation that delays a start at `from` longest, and until when; -1 if there is
  // none.
  int barrier_of(const QueuedJob& job, sim::SimTime from, sim::SimTime& until) const;

 private:
  std::vector<Reservation> all_;
  mutable NodeMask open_;
};

}  // namespace orrery::cluster
