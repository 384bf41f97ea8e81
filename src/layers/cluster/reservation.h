// Reservations: nodes that are set aside at times, for some or, as maintenance, for nobody.
//
//   window k = [start + k every, start + k every + length)
//   barred   <=>  the job is no guest, and the time from its start to its limit meets a window
// A job with a limit is never placed across a window's beginning, so that none has to be stopped. A
// job that stays (a run, a service) is barred only while a window is open: it is stopped and queued
// again when one opens on its nodes. Guests use the nodes at all times, as under Slurm's flag FLEX.
// A policy asks what is open to a job that would start at a time; all it knows is in the mask.
// Where it is wrong: Slurm lets a reservation move to other nodes when some of its own are lost;
// here its nodes are named once. Two reservations may have the same node.
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
  sim::SimTime every;  // zero: once

  struct Window {
    sim::SimTime begin = sim::SimTime::never();
    sim::SimTime end = sim::SimTime::never();
  };
  // The first that ends after `at`; never where none does.
  Window window_after(sim::SimTime at) const;
  bool has(int node) const {
    return (nodes[static_cast<std::size_t>(node) / 64] >> (node % 64) & 1) != 0;
  }
};

class ReservationBook {
 public:
  // At most 64; a job's guest_of has a bit for each, in this order.
  void add(Reservation reservation);
  bool is_empty() const { return all_.empty(); }
  const std::vector<Reservation>& all() const { return all_; }

  bool bars(std::size_t reservation, const QueuedJob& job, sim::SimTime from) const;
  // Of the nodes of `partition` (none: all of `nodes`), those that a job which starts at `from` may
  // have; `partition` itself where no reservation bars it. Good until the next call.
  const NodeMask* open_to(const QueuedJob& job, const NodeMask* partition, sim::SimTime from) const;
  // Whether the job may have all these nodes.
  bool is_open(const QueuedJob& job, std::span<const NodeShare> where, sim::SimTime from) const;
  // The next time after `at` at which a window opens or ends; never where none does.
  sim::SimTime next_change(sim::SimTime at) const;
  // The reservation that keeps the job from starting at `from` longest, and until when; none: -1.
  int barrier_of(const QueuedJob& job, sim::SimTime from, sim::SimTime& until) const;

 private:
  std::vector<Reservation> all_;
  mutable NodeMask open_;
};

}  // namespace orrery::cluster
