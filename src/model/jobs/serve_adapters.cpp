#include "model/jobs/serve_adapters.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/workload/adapters.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"

namespace orrery::jobs {
namespace {

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
         .estimate = within(value, width, width, Basis::derived, kAdapterPage),
         .formula = std::move(formula)});
  };
  add(figures::FigureId::adapter_memory, v.adapters.reserved.base(), 0,
      fmt::format("{} slots of {}, at the rank that the engine reserves for {}", set.slots,
                  brief(v.adapters.reserved / set.slots), significant(set.rank, 3)));
  add(figures::FigureId::adapter_loads, v.slots.loads, kAdapterLoadsError,
      fmt::format("{} adapters for {} slots, popularity 1 / place^{}; loading one takes {}",
                  set.count, set.slots, significant(set.skew, 3), brief(v.adapters.load)));
  figures.push_back({.kind = figures::FigureId::adapter_wait,
                     .estimate = figures::widened(figures::FigureId::adapter_wait, v.wait.base(),
                                                  error, Basis::derived, kAdapterPage),
                     .formula = "included in the time to the first token; slots limit that, not "
                                "the throughput"});
  return figures;
}

}  // namespace orrery::jobs
