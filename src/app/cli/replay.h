// `orrery simulate --replay FILE`: replays a trace of jobs under one or more queue policies, for
// comparison. Has the options and runs the replay; the verb itself is in simulate.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/verb.h"

namespace orrery::cli {

struct ReplayArguments {
  std::string file;  // empty: replay nothing
  std::string trace_format;
  std::vector<std::string> policies;
  std::string placement = "pack";
  std::int64_t gpus = 0;   // size of a plain pool
  std::int64_t nodes = 0;  // or the number of nodes, with gpus_per_node each
  std::int64_t gpus_per_node = 8;
  std::int64_t nodes_per_leaf = 0;
  std::int64_t from = 0;
  std::int64_t take = 0;
  std::optional<std::string> mtbf;
  std::string repair = "4 h";
  std::optional<std::string> checkpoint;
  std::string requeue = "2 min";
  std::optional<std::string> why;
  std::optional<std::string> pod_nodes;
  double load = 1.3;
  bool rewind = false;
  std::int64_t more = 0;
};

void bind_replay(ReplayArguments& o, Arguments& a);
// Replays the trace. `design` gives the fleet and scheduler if neither --gpus nor --nodes is given;
// it may be empty.
ExitCode run_replay(const ReplayArguments& o, const std::string& design, std::uint64_t seed,
                    Format format, Terminal& terminal);

}  // namespace orrery::cli
