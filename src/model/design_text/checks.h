// What names alone do not tell: one check a part of the design, all faults at once.
#pragma once

#include <string>

#include "model/design/design.h"
#include "model/design_text/value_reader.h"

namespace orrery::design_text {

// Reads the hours that sites name, into design.local_hours, and checks what hangs on them: a PUE
// that is said twice, work that waits for clean hours where none are known, a plant that no weather
// or outage can try.
void check_hours(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file);

// How a network marks and pauses: thresholds in their order, a watchdog that is there.
void check_marking(const design::Design& design, ValueReader& values);

// Whether a tier of `orrery store` may lie in the pool or bucket that it names.
void check_places(const design::Design& design, ValueReader& values);

// Whether stages say what they need and name what there is. A workload that is a stage comes back
// with the pipeline, so the reader gives it the pipeline's period (one run where there is none); a
// period of its own that differs is refused.
void check_pipeline(design::Design& design, ValueReader& values);

// A job has a bit for each of them.
inline constexpr std::size_t kMostReservations = 64;
// Whether reservations are of fleets that Slurm runs, have a period that Slurm knows, and name
// tenants that have an account.
void check_reservations(const design::Design& design, ValueReader& values);

// Whether what a service says of talks, agents, routers, autoscaling, its KV tier, adapters and
// retrieval has something to act on: what is not modelled together is refused.
void check_service(const design::Serve& serve, const std::string& path,
                   const design::PlaceMap& places, ValueReader& values);

// Whether a batch says its work once.
void check_inference(const design::Batch& batch, const std::string& path,
                     const design::PlaceMap& places, ValueReader& values);

// Whether services escalate to services that there are, in no circle, and whether one that nobody
// asks has others that escalate to it.
void check_cascades(const design::Design& design, ValueReader& values);
// Replicas run on the slices that their fleets are cut into.
void check_slices(const design::Design& design, ValueReader& values);

}  // namespace orrery::design_text
