// Pods that request shares of GPUs, and the nodes of the cluster they ran on, as in the openb
// trace.
//
// Pods have the columns cpu_milli, memory_mib, num_gpu, gpu_milli and optionally gpu_spec (GPU
// models joined by '|'); nodes have cpu_milli, memory_mib, gpu, model (Alibaba's openb, 2023). A
// pod requests either less than 1000 milli of one GPU, or whole GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"

namespace orrery::workload {

struct PodRecord {
  int cpu_milli = 0;
  int memory_mib = 0;
  int gpus = 0;
  int gpu_milli = 0;                // per GPU; 1000 is a whole GPU
  std::vector<std::string> models;  // acceptable GPU models; empty: any
};

struct PodNodeRecord {
  int cpu_milli = 0;
  int memory_mib = 0;
  int gpus = 0;
  std::string model;
};

bool looks_like_pods(std::string_view text);
Result<std::vector<PodRecord>> read_pods(std::string_view text, const std::string& file);
Result<std::vector<PodNodeRecord>> read_pod_nodes(std::string_view text, const std::string& file);

}  // namespace orrery::workload
