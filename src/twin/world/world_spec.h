// What a world is made of: the fleets of a machine in hosts and slots, how hosts fail and are
// repaired, and what each host draws.
#pragma once

#include <optional>
#include <vector>

#include "layers/facility/node_power.h"
#include "layers/failure/causes.h"
#include "layers/failure/rates.h"
#include "layers/failure/spares.h"
#include "model/machine/machine.h"

namespace orrery::world {

// What a NIC that never stops pausing does to other hosts (fabric/storm_study.h).
struct StormPlan {
  double reach = 0;  // of the other hosts
  double left = 1;   // of their rate
  std::optional<Seconds> watchdog;
};

struct FleetPart {
  const machine::Fleet* fleet = nullptr;
  const machine::FailureSource* failures = nullptr;
  design::SiteIndex site;
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
  StormPlan storm;   // without reach if no storm can strike

  int all_hosts() const { return hosts + spares; }
};

struct WorldSpec {
  const machine::Machine* machine = nullptr;
  IndexedVector<design::FleetIndex, FleetPart> fleets;  // as the machine's
  Seconds horizon;
};

// `machine` outlives it.
WorldSpec world_spec_of(const machine::Machine& machine, Seconds horizon);

}  // namespace orrery::world
