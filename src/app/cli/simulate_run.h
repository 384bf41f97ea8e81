// A run of a design on this machine's threads: what `simulate` and `diff --simulate` share.
#pragma once

#include <optional>
#include <string>

#include "app/cli/terminal.h"
#include "model/jobs/resolve_jobs.h"
#include "twin/run/simulation.h"

namespace orrery::cli {

// The options as they are given, read and bounded.
Result<run::RunOptions> run_options(const std::string& horizon, std::int64_t replications,
                                    std::uint64_t seed);

// All replications, or those that were done when the person pressed Ctrl-C; none where none was.
std::optional<run::Run> simulate_design(const jobs::LoadedMachine& loaded,
                                        const run::RunOptions& options, int threads,
                                        Terminal& terminal);

}  // namespace orrery::cli
