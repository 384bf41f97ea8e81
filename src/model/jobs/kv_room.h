// What a replica of a service has of its KV tier.
#pragma once

#include "model/jobs/predict_sessions.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

// Returns no room for a service without a KV tier; `replicas` share it.
KvRoom kv_room(const machine::Machine& machine, const design::Serve& serve,
               const machine::Fleet& fleet, const ServingQuery& query, double replicas);

}  // namespace orrery::jobs
