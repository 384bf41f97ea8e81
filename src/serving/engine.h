// Serving engines: what each takes of the memory, hands out in a step and costs the host.
//
// Defaults as the engines' sources have them: vLLM 0.24 gpu_memory_utilization 0.92 (0.90 before),
// blocks of 16 tokens, a token budget and a limit of sequences by the size of the device (160 GiB
// and more: 16,384 and 1,024; 70 GiB: 8,192 and 1,024; less: 2,048 and 256). SGLang takes 0.88 of
// the memory, TensorRT-LLM 0.90 of what is free. Host time of a step and reserves are assumptions,
// named so in docs/models/serving.md. Wrong for: settings that a deployment changed; give them
// instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace orrery {

struct Engine {
  std::string_view id;  // as the design file spells it
  double memory_share = 0.9;
  double block_tokens = 16;
  Bytes reserve;              // context, captured graphs, communication buffers
  Seconds host_step;          // scheduling, sampling and output that no kernel hides
  Seconds eager_layer;        // least host time of a layer of a step with prompts: no graph there
  Seconds first_token;        // network, tokeniser and streaming around a request
  double kernels_hidden = 0;  // share of the passes over memory that it fuses away
  bool keeps_all_output = false;  // reserves prompt and whole output before it admits a request
  std::string_view ended;         // why it should not be chosen; empty where it may
};

// nullptr where there is no such engine.
const Engine* find_engine(std::string_view id);
std::vector<std::string_view> engine_ids();

struct EngineLimits {
  double token_budget = 8192;  // of one step
  double max_sequences = 1024;
};
EngineLimits default_limits(Bytes device_memory);

}  // namespace orrery
