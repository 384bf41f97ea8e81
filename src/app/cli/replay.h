// `orrery simulate --replay FILE`: a trace of jobs under one or more queueing policies, side by
// side. The options and what runs them; the verb is simulate.cpp's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cli/verb.h"

namespace orrery::cli {

struct ReplayArguments {
  std::string file;  // empty: no replay
  std::string trace_format;
  std::vector<std::string> policies;
  std::string placement = "pack";
  std::int64_t gpus = 0;   // a plain pool
  std::int64_t nodes = 0;  // or nodes of gpus_per_node
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
// `design`: its fleet and scheduler, where no --gpus or --nodes are given; may be empty.
ExitCode run_replay(const ReplayArguments& o, const std::string& design, std::uint64_t seed,
                    Format format, Terminal& terminal);

}  // namespace orrery::cli
