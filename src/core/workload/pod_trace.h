// Pods with shares of GPUs, and the nodes they were asked of, as the openb trace has them.
//
// Columns cpu_milli, memory_mib, num_gpu, gpu_milli and, where given, gpu_spec (models joined by
// '|') of pods; cpu_milli, memory_mib, gpu, model of nodes (Alibaba's openb, 2023). A pod wants a
// share below 1000 milli of one GPU, or whole ones.
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
  int gpu_milli = 0;                // of each; 1000 is a whole one
  std::vector<std::string> models;  // of GPUs that will do; none: any
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
