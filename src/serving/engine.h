// Serving engines: what each takes of the memory, hands out in a step and costs the host.
//
// The rows are data/calibration/serving_engines.csv, each with its source: shares of memory and
// blocks are the engines' own defaults; host time of a step and reserves are assumptions, named so
// in docs/models/serving.md. The limits of a step are vLLM 0.24's by the size of the device
// (160 GiB and more: 16,384 tokens and 1,024 sequences; 70 GiB: 8,192 and 1,024; less: 2,048 and
// 256). Wrong for: settings that a deployment changed; give them instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/diagnostic.h"
#include "base/quantity.h"

namespace orrery::serving {

struct Engine {
  std::string id;    // as the design file spells it
  std::string also;  // another spelling of it; may be empty
  double memory_share = 0.9;
  double block_tokens = 16;
  Bytes reserve;              // context, captured graphs, communication buffers
  Seconds host_step;          // scheduling, sampling and output that no kernel hides
  Seconds eager_layer;        // least host time of a layer of a step with prompts: no graph there
  Seconds first_token;        // network, tokeniser and streaming around a request
  double kernels_hidden = 0;  // share of the passes over memory that it fuses away
  bool keeps_all_output = false;  // reserves prompt and whole output before it admits a request
};

// A row that lacks a value or has one that cannot be is an error, and all of them are told.
Result<std::vector<Engine>> read_engines(const CsvTable& table);
// nullptr where there is no such engine.
const Engine* find_engine(const std::vector<Engine>& engines, std::string_view id);

struct EngineLimits {
  double token_budget = 8192;  // of one step
  double max_sequences = 1024;
};
EngineLimits default_limits(Bytes device_memory);

}  // namespace orrery::serving
