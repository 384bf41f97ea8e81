// Which job runs when, and what happens when something breaks.
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
  std::optional<double> share;  // largest share of the fleet
  std::optional<int> accelerators;

  bool operator==(const Quota&) const = default;
};

struct SchedulerPartition {
  std::string name;
  std::string fleet;
  std::optional<int> nodes;  // none: all nodes of the fleet
  std::optional<Seconds> time_limit;

  bool operator==(const SchedulerPartition&) const = default;
};

// A quality of service, as in Slurm: a job's rank in the queue, how much of the fleet its users may
// have at once, and which other jobs it may preempt.
struct Qos {
  std::string name;
  int priority = 0;
  std::optional<int> max_nodes;  // for all its jobs together
  std::optional<int> max_nodes_per_user;
  std::optional<int> max_jobs_per_user;  // running at once
  std::optional<Seconds> time_limit;     // per job
  std::vector<std::string> preempts;     // QOS whose jobs it may preempt

  bool operator==(const Qos&) const = default;
};

// How often a reservation repeats, in Slurm's words.
enum class ReservationPeriod { once, hourly, daily, weekly };
Seconds length_of(ReservationPeriod period);  // zero: once

// Nodes of a fleet, counted from its end, that are set aside at certain times: for some tenants, or
// for maintenance.
struct Reservation {
  std::string name;
  std::string fleet;         // empty: Slurm's first fleet
  std::optional<int> nodes;  // none: all nodes of the fleet
  Seconds start;             // of the first window, after the beginning of the run
  Seconds duration;          // of each window
  ReservationPeriod repeat = ReservationPeriod::once;
  std::vector<std::string> tenants;  // tenants who may use it; empty: maintenance

  bool operator==(const Reservation&) const = default;
};

// From a fault to useful work again. None: the failure layer's published defaults.
struct Recovery {
  std::optional<Seconds> detect;
  std::optional<Seconds> hang_timeout;  // time until a hang is detected
  std::optional<Seconds> requeue;       // drain, pick a spare, start the processes
  std::optional<Seconds> restart;       // initialise and load the checkpoint; none: computed
  bool automatic = true;                // false: a person acts
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
  bool power_aware = false;  // a job starts only if the site's power covers it
  std::vector<Quota> quotas;
  std::vector<SchedulerPartition> partitions;
  std::vector<Qos> qos;
  std::vector<Reservation> reservations;
  Recovery recovery;

  bool operator==(const Scheduler&) const = default;
};

}  // namespace orrery::design
