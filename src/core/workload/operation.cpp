#include "core/workload/operation.h"

#include <algorithm>

#include "core/workload/message.h"

namespace orrery::workload {
namespace {

// Returns the query-key pairs that are computed, per head and sequence.
double attended_pairs(const Attention& a) {
  if (!a.causal) return a.q_len * (a.window > 0 ? std::min(a.window, a.kv_len) : a.kv_len);
  // The last query sees all keys; the first sees kv_len - q_len + 1 of them.
  const double cached = a.kv_len - a.q_len;
  const double full = a.q_len * cached + a.q_len * (a.q_len + 1) / 2;
  if (a.window <= 0 || a.window >= a.kv_len) return full;
  // Queries that the window cuts off see `window` keys; earlier ones see all keys before them.
  const double uncut = std::clamp(a.window - cached, 0.0, a.q_len);
  return uncut * cached + uncut * (uncut + 1) / 2 + (a.q_len - uncut) * a.window;
}

struct FlopsOf {
  Flops operator()(const Gemm& g) const { return Flops(2 * g.m * g.n * g.k * g.groups); }
  Flops operator()(const Attention& a) const {
    const double forward = 2 * a.batch * a.q_heads * attended_pairs(a) * (a.qk_dim + a.v_dim);
    // The backward pass of flash attention recomputes the scores: five products for the forward
    // pass's two.
    return Flops(a.backward ? 2.5 * forward : forward);
  }
  Flops operator()(const MemoryPass&) const { return Flops(0); }
};

struct BytesOf {
  Bytes operator()(const Gemm& g) const {
    const double e = bytes_per_element(g.dtype);
    // Products of 8- and 4-bit operands produce 16-bit results.
    const double out = std::max(e, 2.0);
    return Bytes(g.groups * (e * g.m * g.k + g.weight_bytes() * g.k * g.n + out * g.m * g.n));
  }
  Bytes operator()(const Attention& a) const {
    const double e = bytes_per_element(a.dtype);
    const double q = a.q_heads * a.q_len * (a.qk_dim + a.v_dim);
    const double reach = a.window > 0 ? std::min(a.kv_len, a.window + a.q_len) : a.kv_len;
    const double kv = a.kv_heads * reach * (a.qk_dim + a.v_dim);
    // The backward pass reads q, k, v, o, do and writes dq, dk, dv: twice the forward pass's
    // traffic.
    return Bytes(a.batch * e * (q + kv) * (a.backward ? 2 : 1));
  }
  Bytes operator()(const MemoryPass& p) const { return p.read + p.written; }
};

}  // namespace

Flops flops_of(const Operation& op) { return std::visit(FlopsOf{}, op); }
Bytes bytes_of(const Operation& op) { return std::visit(BytesOf{}, op); }

}  // namespace orrery::workload
