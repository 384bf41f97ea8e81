// The capacity and the rate that a replica of a service gets from its KV tier.
#pragma once

#include "model/jobs/predict_sessions.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

// Returns zero capacity for a service without a KV tier; `replicas` share the tier.
KvRoom kv_room(const machine::Machine& machine, const design::Serve& serve,
               const machine::Fleet& fleet, const ServingQuery& query, double replicas);

}  // namespace orrery::jobs
