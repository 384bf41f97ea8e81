// Runs a design on the threads of this machine; shared by `simulate` and `diff --simulate`.
#pragma once

#include <optional>
#include <string>

#include "app/cli/terminal.h"
#include "model/jobs/resolve_jobs.h"
#include "twin/run/simulation.h"

namespace orrery::cli {

// Reads the options and checks their ranges.
Result<run::RunOptions> run_options(const std::string& horizon, std::int64_t replications,
                                    std::uint64_t seed);

// Returns the run of all replications, or of those that were finished when Ctrl-C was pressed; none
// if none was.
std::optional<run::Run> simulate_design(const jobs::LoadedMachine& loaded,
                                        const run::RunOptions& options, int threads,
                                        Terminal& terminal);

}  // namespace orrery::cli
