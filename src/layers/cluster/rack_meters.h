// What the racks of a fleet draw above idle, by the jobs that are placed in them.
//
//   energy   of a rack: sum over the jobs that were there of slots x integral of a slot's draw
//   highest  of the sum over the jobs there of slots x the highest phase that each is in
// A job draws alike on all of its slots, so its draw is integrated once and shared out when it
// leaves; a rack that one job fills takes the job's highest then, and only racks that jobs share
// are looked at whenever one of them changes. Kept in the replication that is recorded. Racks hold
// hosts in the order of their numbers, spares last, as the power units that fail do.
#pragma once

#include <span>
#include <vector>

#include "core/sim/sim_time.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {

struct RackDraw {
  Joules energy;  // above idle, as the next
  Watts highest;
  int hosts = 0;
};

class RackMeters {
 public:
  RackMeters(int hosts, int hosts_per_rack, int slots_per_host);

  // All that the job has from now on; it draws as it did where it was placed already.
  void placed(JobIndex job, std::span<const NodeShare> where, sim::SimTime now);
  // Of a slot, above idle.
  void draws(JobIndex job, Watts mean, Watts highest, sim::SimTime now);
  void left(JobIndex job, sim::SimTime now);
  // With the jobs that are still there.
  std::vector<RackDraw> until(sim::SimTime end) const;

 private:
  struct Place {
    int rack = 0;
    int slots = 0;
  };
  struct Held {
    std::vector<Place> whole;   // racks that are all its own
    std::vector<Place> shared;  // others
    Watts draw;
    Watts highest;
    Watts highest_seen;  // since it was placed
    Joules drawn;        // of a slot, likewise
    sim::SimTime settled;
  };
  struct Rack {
    RackDraw draw;
    Watts now;  // of jobs that share it
    int slots = 0;
  };

  static void settle(Held& held, sim::SimTime now);
  static void pay(const Held& held, std::vector<Rack>& racks);
  void find_places(Held& held, std::span<const NodeShare> where);

  int hosts_per_rack_;
  std::vector<Rack> racks_;
  std::vector<Held> held_;  // by job
};

}  // namespace orrery::cluster
