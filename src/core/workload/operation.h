// What a model asks of a device, independent of any device: matrix products, attention, passes over
// memory.
//
// compute/ says how long an operation takes; training/ and serving/ list the operations of a step.
// A multiply-add is 2 FLOP. Sizes are doubles because shapes come from divisions (tokens per
// expert, a sequence over its context-parallel group) that need not give whole numbers.
#pragma once

#include <variant>

#include "core/base/quantity.h"
#include "core/catalog/parts.h"

namespace orrery::workload {

// Which of a layer's three products this is. They differ in memory layout (TN, NN, NT) and
// therefore in speed.
enum class GemmPass { forward, dgrad, wgrad };

// `groups` equal products C[m,n] += A[m,k] B[k,n] launched as one kernel (the experts of an MoE
// layer; otherwise 1). B may be stored in fewer bits than it is multiplied in.
struct Gemm {
  double m = 0;
  double n = 0;
  double k = 0;
  catalog::Dtype dtype = catalog::Dtype::bf16;
  GemmPass pass = GemmPass::forward;
  double groups = 1;
  double stored = 0;  // bytes per element of B; 0: as dtype

  double weight_bytes() const { return stored > 0 ? stored : bytes_per_element(dtype); }
};

// Fused (flash) attention: `batch` sequences of q_len queries over kv_len keys.
struct Attention {
  double batch = 1;
  double q_heads = 0;
  double kv_heads = 0;
  double qk_dim = 0;
  double v_dim = 0;
  double q_len = 0;
  double kv_len = 0;
  bool causal = true;
  double window = 0;  // sliding window in keys; 0: none
  bool backward = false;
  catalog::Dtype dtype = catalog::Dtype::bf16;
};

// A kernel that only moves memory: norm, rope, activation, residual, cast, optimizer.
struct MemoryPass {
  Bytes read;
  Bytes written;
};

using Operation = std::variant<Gemm, Attention, MemoryPass>;

Flops flops_of(const Operation& op);
Bytes bytes_of(const Operation& op);  // minimum traffic to device memory: each operand once

}  // namespace orrery::workload
