// Who runs when, and what happens when something breaks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"

namespace orrery::design {

enum class SchedulerKind { slurm, kubernetes, both };
enum class Backfill { none, easy, conservative, slurm };
enum class PlacementTopology { none, tree, block, rail };
enum class Preemption { none, requeue, suspend };

struct Quota {
  std::string tenant;
  std::optional<double> share;  // of the fleet
  std::optional<int> accelerators;

  bool operator==(const Quota&) const = default;
};

struct SchedulerPartition {
  std::string name;
  std::string fleet;
  std::optional<int> nodes;  // none: all of the fleet
  std::optional<Seconds> time_limit;

  bool operator==(const SchedulerPartition&) const = default;
};

// A quality of service, as Slurm has it: which place a job has in the queue, how much of the fleet
// its users may have at once, and whom it may stop.
struct Qos {
  std::string name;
  int priority = 0;
  std::optional<int> max_nodes;  // of all its jobs together
  std::optional<int> max_nodes_per_user;
  std::optional<int> max_jobs_per_user;  // that run
  std::optional<Seconds> time_limit;     // of a job
  std::vector<std::string> preempts;     // whose jobs give way to its own

  bool operator==(const Qos&) const = default;
};

// As Slurm repeats a reservation.
enum class ReservationPeriod { once, hourly, daily, weekly };
Seconds length_of(ReservationPeriod period);  // zero: once

// Nodes of a fleet that are set aside at times, the last of it: for some tenants, or for nobody.
struct Reservation {
  std::string name;
  std::string fleet;         // empty: Slurm's first
  std::optional<int> nodes;  // none: all of the fleet
  Seconds start;             // of its first window, from the beginning
  Seconds duration;          // of a window
  ReservationPeriod repeat = ReservationPeriod::once;
  std::vector<std::string> tenants;  // who may use it; empty: nobody, it is maintenance

  bool operator==(const Reservation&) const = default;
};

// From a fault to useful work again. None: the failure layer's published defaults.
struct Recovery {
  std::optional<Seconds> detect;
  std::optional<Seconds> hang_timeout;  // until a hang is taken for one
  std::optional<Seconds> requeue;       // drain, pick a spare, start the processes
  std::optional<Seconds> restart;  // initialise and load the checkpoint, where it is not computed
  bool automatic = true;           // false: a person acts
  std::optional<Seconds> operator_response;

  bool operator==(const Recovery&) const = default;
};

struct Scheduler {
  SchedulerKind kind = SchedulerKind::slurm;
  Backfill backfill = Backfill::easy;
  PlacementTopology topology = PlacementTopology::tree;
  Preemption preemption = Preemption::none;
  bool gang = true;
  bool fair_share = false;
  catalog::FairShareBy fair_share_by = catalog::FairShareBy::fair_tree;
  bool power_aware = false;  // a job starts only where the site's power carries it
  std::vector<Quota> quotas;
  std::vector<SchedulerPartition> partitions;
  std::vector<Qos> qos;
  std::vector<Reservation> reservations;
  Recovery recovery;

  bool operator==(const Scheduler&) const = default;
};

}  // namespace orrery::design
