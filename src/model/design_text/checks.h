// Checks beyond names: one function per part of the design; all faults are reported at once.
#pragma once

#include <string>

#include "model/design/design.h"
#include "model/design_text/value_reader.h"

namespace orrery::design_text {

// The fault of a design that names a file, if no files can be read.
ValueReader::Fault no_files(const std::string& name, std::string way_out);

// Reads the config.json that `path` names as its model into design.local_models, unless it is there
// already.
void check_local_model(design::Design& design, ValueReader& values,
                       const catalog::ReadFile& read_file, const std::string& name,
                       const std::string& path);

// Reads the hours that sites name into design.local_hours, and checks what depends on them: a PUE
// that is given twice, work that waits for clean hours when none are known, backup power and
// cooling when no outage or weather is known.
void check_hours(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file);

// Checks how a network marks and pauses: thresholds in order, and a watchdog time only with a
// watchdog.
void check_marking(const design::Design& design, ValueReader& values);

// Checks that each tier of `orrery store` may use the pool or bucket that it names.
void check_places(const design::Design& design, ValueReader& values);

// Checks that stages give what they need and name things that exist. A workload that is a stage
// repeats with the pipeline, so the reader gives it the pipeline's period (one run if there is
// none); a different period of its own is refused.
void check_pipeline(design::Design& design, ValueReader& values);

// Most reservations: a job has one bit for each.
inline constexpr std::size_t kMostReservations = 64;
// Checks that reservations name fleets that Slurm runs, a period that Slurm knows, and tenants that
// have an account.
void check_reservations(const design::Design& design, ValueReader& values);

// Checks that the fields of a service about conversations, agents, routers, autoscaling, its KV
// tier, adapters and retrieval have something to act on. Combinations that are not modelled are
// refused.
void check_service(const design::Serve& serve, const std::string& path,
                   const design::PlaceMap& places, ValueReader& values);

// Checks that a batch gives its work only once.
void check_inference(const design::Batch& batch, const std::string& path,
                     const design::PlaceMap& places, ValueReader& values);

// Checks that services escalate to services that exist, not in a circle, and that a service with a
// rate of 0 gets escalated requests.
void check_cascades(const design::Design& design, ValueReader& values);
// Checks services whose fleets cut their accelerators into slices.
void check_slices(const design::Design& design, ValueReader& values);

}  // namespace orrery::design_text
