#include "serving/engine.h"

#include <array>

namespace orrery {
namespace {

const std::array<Engine, 5>& engines() {
  static const std::array<Engine, 5> kAll = {{
      {.id = "vllm",
       .memory_share = 0.92,
       .block_tokens = 16,
       .reserve = gib(3),
       .host_step = microseconds(300),
       .eager_layer = {},
       .first_token = milliseconds(20),
       .kernels_hidden = 0.3,
       .keeps_all_output = false,
       .ended = ""},
      {.id = "sglang",
       .memory_share = 0.88,
       .block_tokens = 1,
       .reserve = gib(3),
       .host_step = microseconds(300),
       .eager_layer = {},
       .first_token = milliseconds(20),
       .kernels_hidden = 0.3,
       .keeps_all_output = false,
       .ended = ""},
      {.id = "tensorrt-llm",
       .memory_share = 0.90,
       .block_tokens = 32,
       .reserve = gib(3),
       .host_step = microseconds(200),
       .eager_layer = {},
       .first_token = milliseconds(20),
       .kernels_hidden = 0.5,
       .keeps_all_output = true,
       .ended = ""},
      {.id = "tgi",
       .memory_share = 0.90,
       .block_tokens = 1,
       .reserve = gib(3),
       .host_step = microseconds(600),
       .eager_layer = {},
       .first_token = milliseconds(20),
       .kernels_hidden = 0.0,
       .keeps_all_output = false,
       .ended = "archived in March 2026"},
      {.id = "pytorch",
       .memory_share = 0.95,
       .block_tokens = 1,
       .reserve = gib(1),
       .host_step = microseconds(300),
       .eager_layer = microseconds(350),
       .first_token = {},
       .kernels_hidden = 0,
       .keeps_all_output = true,
       .ended = ""},
  }};
  return kAll;
}

}  // namespace

const Engine* find_engine(std::string_view id) {
  if (id == "trtllm") id = "tensorrt-llm";
  for (const Engine& e : engines()) {
    if (e.id == id) return &e;
  }
  return nullptr;
}

std::vector<std::string_view> engine_ids() {
  std::vector<std::string_view> ids;
  for (const Engine& e : engines()) ids.push_back(e.id);
  return ids;
}

EngineLimits default_limits(Bytes device_memory) {
  if (device_memory >= gib(160)) return {.token_budget = 16384, .max_sequences = 1024};
  if (device_memory >= gib(70)) return {.token_budget = 8192, .max_sequences = 1024};
  return {.token_budget = 2048, .max_sequences = 256};
}

}  // namespace orrery
