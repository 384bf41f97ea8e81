// Serving engines: the memory that each reserves, what it schedules per step, and its host time.
//
// The rows are data/calibration/serving_engines.csv, each with its source. Memory shares and block
// sizes are the engines' own defaults; host times per step and reserves are assumptions, marked as
// such in docs/models/serving.md. Step limits are those of vLLM 0.24 by device memory (160 GiB and
// more: 16,384 tokens and 1,024 sequences; 70 GiB: 8,192 and 1,024; less: 2,048 and 256). Wrong if
// a deployment changed its settings; give those instead.
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
  std::string id;                      // as spelt in the design file
  std::string also;                    // another spelling of it; may be empty
  EngineKind kind = EngineKind::vllm;  // the engine whose policy it follows
  double memory_share = 0.9;
  double block_tokens = 16;
  Bytes reserve;      // memory for context, captured graphs, communication buffers
  Seconds host_step;  // scheduling, sampling and output that kernels do not hide
  // Minimum host time per layer in a step with prompts, which runs without a graph.
  Seconds eager_layer;
  Seconds first_token;        // network, tokeniser and streaming, per request
  double kernels_hidden = 0;  // share of the passes over memory that it fuses away
  // Reserves space for prompt and whole output before it admits a request.
  bool keeps_all_output = false;
};

// Reads the engines; missing or impossible values are errors, and all of them are reported.
Result<std::vector<Engine>> read_engines(const CsvTable& table);
// Returns nullptr if there is no such engine.
const Engine* find_engine(const std::vector<Engine>& engines, std::string_view id);

// How an engine's kernels on a device differ from the device's own, and times of a step that no
// kernel model covers. data/calibration/serving_tuning.csv holds the fitted values.
struct ServingTuning {
  double products = 1;
  double experts = 1;   // grouped products of the routed experts
  double decoding = 1;  // attention of decoding requests
  double latent = 1;    // attention of decoding requests over a latent (MLA)
  double prefill = 1;   // attention of prompts
  double messages = 1;
  Seconds layer;           // small kernels of every layer that no listed pass covers
  Seconds expert_layer;    // additional per layer that routes tokens
  Seconds state_layer;     // additional per layer with a state instead of attention
  Seconds step;            // host time per step
  Seconds sequence;        // host time per request in a step: sampling, detokenising, streaming
  Seconds expert_first;    // additional before a first token, per layer that routes tokens
  Seconds first_token;     // network, tokeniser and server queues before the engine sees a request
  double poll_steps = 0;   // decode steps that pass before a running engine notices a request
  double prompt_wait = 1;  // time to the first token relative to the simulated one
};

struct TuningRow {
  std::string accelerator;  // "*": any
  std::string engine;
  ServingTuning tuning;
};
Result<std::vector<TuningRow>> read_tunings(const CsvTable& table);
// Returns the row of this accelerator; otherwise that of the accelerator whose measurements it
// borrows; otherwise the engine's general row; otherwise the untuned defaults.
ServingTuning find_tuning(const std::vector<TuningRow>& rows, std::string_view accelerator,
                          std::string_view measured, std::string_view engine);

struct EngineLimits {
  double token_budget = 8192;  // tokens per step
  double max_sequences = 1024;
  bool chunked_prefill = true;
};
EngineLimits default_limits(Bytes device_memory);
// Returns the engine's own defaults: SGLang sets the prompt chunk by memory size; TensorRT-LLM uses
// 8,192 tokens on any device.
EngineLimits default_limits(const Engine& engine, Bytes device_memory);

}  // namespace orrery::engines
