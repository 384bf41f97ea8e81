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
  double reach = 0;  // share of the other hosts that it reaches
  double left = 1;   // share of their rate that is left
  std::optional<Seconds> watchdog;
};

struct FleetPart {
  const machine::Fleet* fleet = nullptr;
  const machine::FailureSource* failures = nullptr;
  design::SiteIndex site;
  int hosts = 0;   // in service
  int spares = 0;  // spare hosts
  int accelerators_per_host = 0;
  int slots_per_host = 1;  // accelerators, or the host itself if it has none
  failure::LemonMix lemons;
  failure::RepairPipeline repair;
  std::optional<Seconds> repair_given;  // from the design: exponential with this mean
  double straggler_share = 0;
  double straggler_slowdown = 0;
  facility::NodePower host_power;  // all zero if nothing is published
  failure::FaultCause taken_back;  // for a spot host
  int hosts_per_rack = 1;
  int racks_per_pdu = 1;
  Watts rack_limit;  // 0: unknown
  Watts pdu_rating;  // 0: unknown
  StormPlan storm;   // no reach if no storm is possible

  int all_hosts() const { return hosts + spares; }
};

struct WorldSpec {
  const machine::Machine* machine = nullptr;
  IndexedVector<design::FleetIndex, FleetPart> fleets;  // in the machine's order
  Seconds horizon;
};

// `machine` must outlive the spec.
WorldSpec world_spec_of(const machine::Machine& machine, Seconds horizon);

}  // namespace orrery::world
