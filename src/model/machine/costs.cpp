#include "model/machine/costs.h"

#include "layers/serving/graph_reduce.h"

namespace orrery::machine {
namespace {

double factor(const training::AcceleratorTuning& t, const workload::Operation& op) {
  if (const workload::Gemm* g = std::get_if<workload::Gemm>(&op)) {
    if (g->dtype == catalog::Dtype::fp8) return t.matrix_8bit;
    if (g->dtype == catalog::Dtype::fp4) return t.matrix_4bit;
    return t.matrix;
  }
  return std::holds_alternative<workload::Attention>(op) ? t.attention : t.passes;
}

bool inside_domain(const workload::CollectiveCall& call) {
  return call.group.per_domain >= call.group.ranks;
}

double link_generation(const catalog::Accelerator& a) {
  const char last = a.scaleup_link.empty() ? '0' : a.scaleup_link.back();
  return a.scaleup_link.starts_with("NVLink") && last >= '0' && last <= '9' ? last - '0' : 0;
}

const Costs& costs_in(const void* context) { return *static_cast<const Costs*>(context); }

training::OpCost kernel_of(const void* context, const workload::Operation& op) {
  const compute::KernelCost c = costs_in(context).kernel(op);
  return {c.time.base(), c.clocked.base(), c.core.base(), c.memory.base()};
}

double collective_of(const void* context, const workload::CollectiveCall& call) {
  return costs_in(context).collective(call).base();
}

training::ClockAnswer clock_of(const void* context, const training::OpCost& busy, double waiting) {
  const compute::KernelCost cost{.time = Seconds(busy.seconds),
                                 .clocked = Seconds(busy.clocked),
                                 .core = Joules(busy.core_joules),
                                 .memory = Joules(busy.memory_joules)};
  const compute::Throttled t = costs_in(context).settle(cost, Seconds(waiting));
  return {t.clock, t.power.base()};
}

}  // namespace

Costs::Costs(const Models& models, const Wiring& wiring, const CostOptions& options)
    : accelerator_(wiring.accelerator),
      device_(device_model(*wiring.accelerator, models.kernels, options.libraries)),
      links_(wiring, models.collectives),
      tuning_(options.tuning),
      graph_reduce_(options.graph_reduce) {
  if (options.slice) device_ = slice_of(device_, *options.slice);
  if (options.power_limit > Watts(0)) {
    device_.power.limit = min(device_.power.limit, options.power_limit);
  }
}

compute::KernelCost Costs::kernel(const workload::Operation& op) const {
  compute::KernelCost c = kernel_cost(device_, op);
  const double f = factor(tuning_, op);
  c.time = c.time * f;
  c.clocked = c.clocked * f;
  if (std::holds_alternative<workload::MemoryPass>(op)) c.memory = c.memory * tuning_.pass_energy;
  return c;
}

Seconds Costs::collective(const workload::CollectiveCall& call) const {
  const bool inside = inside_domain(call);
  const Seconds library = links_.time(call).time * (inside ? tuning_.scaleup : tuning_.network);
  if (!graph_reduce_ || !inside || call.kind != workload::Collective::all_reduce) return library;
  const BytesPerSecond link = accelerator_->scaleup_per_direction.value_or(BytesPerSecond(0));
  if (link <= BytesPerSecond(0)) return library;
  return min(library, serving::graph_all_reduce(call.bytes, call.group.ranks, link,
                                                link_generation(*accelerator_)));
}

training::CostSource training_source(const Costs& costs) {
  return {.context = &costs, .kernel = kernel_of, .collective = collective_of, .clock = clock_of};
}

serving::ServingCosts serving_source(const Costs& costs) {
  return {.kernel =
              [&costs](const workload::Operation& op) {
                const compute::KernelCost c = costs.kernel(op);
                return serving::ServingOpCost{c.time, c.clocked, c.core, c.memory};
              },
          .collective =
              [&costs](const workload::CollectiveCall& asked) {
                workload::CollectiveCall call = asked;
                call.group = costs.links().group_of(asked.group.ranks);
                return costs.collective(call);
              },
          .settle =
              [&costs](const serving::ServingOpCost& c, Seconds waiting) {
                const compute::Throttled t =
                    costs.settle({c.time, c.clocked, c.core, c.memory}, waiting);
                return serving::SettledWork{.time = t.time, .power = t.power};
              }};
}

}  // namespace orrery::machine
