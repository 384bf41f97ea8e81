#include "model/jobs/serving_query.h"

#include <algorithm>

#include "core/workload/model_math.h"
#include "core/workload/transformer.h"
#include "model/figures/assumptions.h"
#include "model/jobs/serve_adapters.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kSocketSequences;
using figures::assumptions::kSocketTokens;
// Limits as vLLM sets them on CPUs, with one rank per socket.
engines::EngineLimits host_limits(const machine::Fleet& fleet) {
  const double sockets = std::max(1, fleet.node.part.host_cpus);
  return {.token_budget = kSocketTokens * sockets, .max_sequences = kSocketSequences * sockets};
}

}  // namespace

ServingQuery serving_query(const machine::Models& models, const design::Serve& serve,
                           const catalog::ModelShape& model, const machine::Fleet& fleet,
                           const serving::RequestShape& request) {
  ServingQuery q{.model = model, .accelerator = fleet.device(), .engine = serve.engine};
  if (fleet.slice() != nullptr) q.slice = *fleet.slice();
  q.precision.weights_only = serve.precision == catalog::Precision::int4;
  q.precision.products =
      q.precision.weights_only ? catalog::Dtype::bf16 : workload::product_dtype(serve.precision);
  q.precision.experts = q.precision.products;
  q.precision.kv = workload::product_dtype(serve.kv_precision);
  q.request = request;
  q.split.pp = serve.pp;
  if (serve.adapters) q.adapters = adapter_set(*serve.adapters);
  const engines::Engine* engine = find_engine(models.engines, q.engine);
  if (fleet.host != nullptr) q.limits = host_limits(fleet);
  if ((serve.chunked_prefill && !serve.max_batch) || engine == nullptr) return q;
  engines::EngineLimits limits = q.limits.value_or(default_limits(*engine, q.memory()));
  if (serve.max_batch) limits.max_sequences = *serve.max_batch;
  if (!serve.chunked_prefill) {
    // Without chunked prefill, a prompt takes as many tokens of a step as it has.
    limits.chunked_prefill = false;
    limits.token_budget = std::max({limits.token_budget, request.input, request.input_p99});
  }
  q.limits = limits;
  return q;
}

}  // namespace orrery::jobs
