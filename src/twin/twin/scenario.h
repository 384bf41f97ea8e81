// What all replications of a run share and none changes: the machine, its workloads with their
// costs, its fleets counted out in hosts, and what each draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layers/facility/node_power.h"
#include "layers/failure/causes.h"
#include "layers/failure/rates.h"
#include "layers/failure/spares.h"
#include "model/jobs/train_job.h"
#include "twin/storage/storage_run.h"
#include "twin/twin/service_plan.h"
#include "twin/twin/work_plan.h"

namespace orrery::twin {

// What a NIC that pauses for good does to the others (fabric/storm_study.h).
struct StormPlan {
  double reach = 0;  // of the other hosts
  double left = 1;   // of their rate
  std::optional<Seconds> watchdog;
};

struct FleetPart {
  const machine::Fleet* fleet = nullptr;
  const machine::FailureSource* failures = nullptr;
  std::size_t site = 0;
  int hosts = 0;   // in service
  int spares = 0;  // hosts that stand by
  int accelerators_per_host = 0;
  int slots_per_host = 1;  // accelerators, or the host itself where it has none
  failure::LemonMix lemons;
  failure::RepairPipeline repair;
  std::optional<Seconds> repair_given;  // of the design: exponential with this mean
  double straggler_share = 0;
  double straggler_slowdown = 0;
  facility::NodePower host_power;  // all zero where nothing is published
  failure::FaultCause taken_back;  // of a host on spot
  int hosts_per_rack = 1;
  int racks_per_pdu = 1;
  Watts rack_limit;  // 0: not known
  Watts pdu_rating;  // likewise
  StormPlan storm;   // all its own where none strike

  int all_hosts() const { return hosts + spares; }
};

// A replication is run in so many parts, between which one may ask or stop it.
inline constexpr std::int64_t kParts = 100;

struct Scenario {
  const machine::Machine* machine = nullptr;
  std::vector<FleetPart> fleets;       // as the machine's
  std::vector<jobs::TrainJob> trains;  // in the design's order, the infeasible too
  std::vector<ServicePlan> services;   // one a zone
  std::vector<BatchPlan> batches;
  std::vector<StreamPlan> streams;
  std::vector<SlicePlan> slices;
  Seconds horizon;
  bool has_storage_run = false;  // saves take what twin/storage/storage_run.h found

  twin_storage::StorageWork storage_work() const { return {machine, trains, horizon}; }
};

// `machine` outlives it. `read` gives the text of a trace that the design names.
// Once `stop` says so it ends early, and is not to be used.
Scenario scenario_of(const machine::Machine& machine, Seconds horizon,
                     const catalog::ReadFile& read = {}, const std::function<bool()>& stop = {});

}  // namespace orrery::twin
