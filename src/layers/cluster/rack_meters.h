// Power of a fleet's racks above idle, from the jobs placed in them.
//
//   energy   of a rack: sum over its jobs of slots x integral of the draw per slot
//   highest  maximum of the sum over its jobs of slots x the peak draw of each job's current phase
// A job draws the same power on all of its slots, so its draw is integrated once and divided among
// the racks when it leaves. A rack filled by one job takes that job's peak at that point; only
// racks that jobs share are updated whenever one of them changes. Only the recorded replication
// keeps these. Racks hold hosts in the order of their numbers, spares last, in the same way as the
// power units that fail.
#pragma once

#include <span>
#include <vector>

#include "core/sim/sim_time.h"
#include "layers/cluster/start_gate.h"

namespace orrery::cluster {

struct RackDraw {
  Joules energy;  // above idle; likewise `highest`
  Watts highest;
  int hosts = 0;
};

class RackMeters {
 public:
  RackMeters(int hosts, int hosts_per_rack, int slots_per_host);

  // Sets all the places that the job has from now on; its draw on places that it already had
  // continues.
  void placed(JobIndex job, std::span<const NodeShare> where, sim::SimTime now);
  // Sets the draw per slot, above idle.
  void draws(JobIndex job, Watts mean, Watts highest, sim::SimTime now);
  void left(JobIndex job, sim::SimTime now);
  // Returns each rack's totals, including the jobs still running.
  std::vector<RackDraw> until(sim::SimTime end) const;

 private:
  struct Place {
    int rack = 0;
    int slots = 0;
  };
  struct Held {
    std::vector<Place> whole;   // racks that it has to itself
    std::vector<Place> shared;  // racks that it shares
    Watts draw;
    Watts highest;
    Watts highest_seen;  // peak since the job was placed
    Joules drawn;        // per slot, since the job was placed
    sim::SimTime settled;
  };
  struct Rack {
    RackDraw draw;
    Watts now;  // draw of the jobs that share the rack
    int slots = 0;
  };

  static void settle(Held& held, sim::SimTime now);
  static void pay(const Held& held, std::vector<Rack>& racks);
  void find_places(Held& held, std::span<const NodeShare> where);

  int hosts_per_rack_;
  std::vector<Rack> racks_;
  std::vector<Held> held_;  // indexed by job
};

}  // namespace orrery::cluster
