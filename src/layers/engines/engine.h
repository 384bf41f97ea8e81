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

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/base/quantity.h"
#include "layers/engines/scheduler.h"

namespace orrery::engines {

struct Engine {
  std::string id;                      // as the design file spells it
  std::string also;                    // another spelling of it; may be empty
  EngineKind kind = EngineKind::vllm;  // whose policy it follows
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

// How an engine's kernels on a device differ from the device's own, and the times of a step that no
// kernel model has. data/calibration/serving_tuning.csv holds what was fitted.
struct ServingTuning {
  double products = 1;
  double experts = 1;   // grouped products of the routed experts
  double decoding = 1;  // attention of decoding requests
  double latent = 1;    // the same where decode works on a latent (MLA)
  double prefill = 1;   // attention of prompts
  double messages = 1;
  Seconds layer;          // small kernels of every layer that no pass stands for
  Seconds expert_layer;   // more of them where tokens are routed
  Seconds state_layer;    // more of them where a state stands in place of attention
  Seconds step;           // host time of a step
  Seconds sequence;       // host time of every request in a step: sampling, detokenising, streaming
  Seconds expert_first;   // more before a first token, for every layer where tokens are routed
  Seconds first_token;    // network, tokeniser, queues of the server before a request is seen
  double poll_steps = 0;  // decode steps that pass before a running engine looks at a request
  double prompt_wait = 1;  // time to the first token over what the simulation gives
};

struct TuningRow {
  std::string accelerator;  // "*": any
  std::string engine;
  ServingTuning tuning;
};
Result<std::vector<TuningRow>> read_tunings(const CsvTable& table);
// The row of this accelerator, else of the one whose measurements it borrows, else of the engine
// anywhere; the untuned where there is none.
ServingTuning find_tuning(const std::vector<TuningRow>& rows, std::string_view accelerator,
                          std::string_view measured, std::string_view engine);

struct EngineLimits {
  double token_budget = 8192;  // of one step
  double max_sequences = 1024;
  bool chunked_prefill = true;
};
EngineLimits default_limits(Bytes device_memory);
// What the engine takes without being told: SGLang cuts prompts by the memory's size, TensorRT-LLM
// at 8,192 tokens for any device.
EngineLimits default_limits(const Engine& engine, Bytes device_memory);

}  // namespace orrery::engines
