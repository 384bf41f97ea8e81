// A run of a design on this machine's threads: what `simulate` and `diff --simulate` share.
#pragma once

#include <optional>
#include <string>

#include "app/cli/terminal.h"
#include "model/machine/machine.h"
#include "twin/twin/simulation.h"

namespace orrery::cli {

// The options as they are given, read and bounded.
Result<twin::RunOptions> run_options(const std::string& horizon, std::int64_t replications,
                                     std::uint64_t seed);

// All replications, or those that were done when the person pressed Ctrl-C; none where none was.
std::optional<twin::Run> simulate_design(const machine::Machine& machine,
                                         const twin::RunOptions& options, int jobs,
                                         Terminal& terminal);

}  // namespace orrery::cli
