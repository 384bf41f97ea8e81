#include "model/jobs/serve_adapters.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/workload/adapters.h"
#include "model/figures/assumptions.h"

namespace orrery::jobs {
namespace {

constexpr int kPrefixRounds = 4;  // rounds in which cache hits and replica load converge
using figures::assumptions::kAdapterLoadsError;
constexpr const char* kAdapterPage = "docs/models/serving.md";

}  // namespace

serving::AdapterSet adapter_set(const design::Adapters& a) {
  return {.count = a.count,
          .slots = a.slots,
          .rank = static_cast<double>(a.rank),
          .targets = workload::adapter_targets(a.targets),
          .skew = a.skew};
}

void settle_prefixes(serving::RequestShape& r, const design::Serve& serve,
                     const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::ServingTarget& target) {
  // In conversations the history counts, and it always has the same adapter.
  if (!replica.adapters.any() || serve.arrivals.visits() > 1 || r.cached_share <= 0) return;
  const double shared = r.cached_share;
  const double own = r.input * (1 - shared);
  for (int round = 0; round < kPrefixRounds; ++round) {
    const serving::ServingPoint most = capacity(replica, r, target, costs);
    if (most.concurrency < 1) return;
    const double held = most.running * (own + r.output / 2);
    r.cached_share =
        shared * prefix_found(replica.adapters, {.prefix = r.input * shared,
                                                 .fresh = own + r.output,
                                                 .room = replica.memory.kv_tokens - held,
                                                 .running = most.running});
  }
}

AdapterView adapter_view(const serving::Replica& replica, const serving::ServingPoint& p,
                         const serving::RequestShape& request) {
  AdapterView v{
      .adapters = replica.adapters, .slots = slot_use(replica.adapters, p.running), .wait = {}};
  v.wait = (p.prefill + p.tpot * (request.output - 1)) * v.slots.wait;
  return v;
}

std::vector<figures::Figure> adapter_figures(const AdapterView& v, double error) {
  if (!v.adapters.any()) return {};
  const serving::AdapterSet& set = v.adapters.set;
  std::vector<figures::Figure> figures;
  const auto add = [&](figures::FigureId id, double value, double width, std::string formula) {
    figures.push_back(
        {.kind = id,
         .estimate = within(value, std::min(0.9, width), width, Basis::derived, kAdapterPage),
         .formula = std::move(formula)});
  };
  add(figures::FigureId::adapter_memory, v.adapters.reserved.base(), 0,
      fmt::format("{} slots of {}, at the rank that the engine reserves for {}", set.slots,
                  brief(v.adapters.reserved / set.slots), significant(set.rank, 3)));
  add(figures::FigureId::adapter_loads, v.slots.loads, kAdapterLoadsError,
      fmt::format("{} adapters for {} slots, popularity 1 / place^{}; loading one takes {}",
                  set.count, set.slots, significant(set.skew, 3), brief(v.adapters.load)));
  add(figures::FigureId::adapter_wait, v.wait.base(), 1.5 * error,
      "included in the time to the first token; slots limit that, not the throughput");
  return figures;
}

}  // namespace orrery::jobs
