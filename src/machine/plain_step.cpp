#include "machine/plain_step.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"
#include "facility/power_cap.h"
#include "machine/links.h"
#include "machine/predict_training.h"

namespace orrery::machine {
namespace {

constexpr double kEfficiency = 0.35;
constexpr double kError = 0.4;
constexpr double kGradientBytes = 4;
// Share of the all-reduce that backward hides, as buckets of gradients become ready.
constexpr double kHidden = 0.7;
constexpr double kAdamBytesPerParam = 16;

double bytes_of(catalog::Precision p) {
  switch (p) {
    case catalog::Precision::fp32:
    case catalog::Precision::tf32:
      return 4;
    case catalog::Precision::bf16:
    case catalog::Precision::fp16:
      return 2;
    default:
      return 1;
  }
}

std::optional<FlopsPerSecond> peak_of(const catalog::Accelerator& a, catalog::Precision p) {
  const catalog::Dtype wanted = p == catalog::Precision::fp32   ? catalog::Dtype::fp32
                                : p == catalog::Precision::tf32 ? catalog::Dtype::tf32
                                                                : catalog::Dtype::bf16;
  if (a.peak(wanted)) return a.peak(wanted);
  return a.peak(catalog::Dtype::fp16);
}

struct EmbeddingCost {
  Seconds time;
  Bytes per_device;
};

EmbeddingCost embedding_cost(const design::Embeddings& e, const TrainJob& job, int gpus,
                             const Links& links, const workload::GroupShape& group) {
  const double row = e.width * bytes_of(e.precision);
  const double samples = static_cast<double>(job.train->batch) / gpus;
  const Bytes touched(samples * e.lookups * row);
  // Forward reads a row; backward reads and writes it with its moment.
  const Seconds memory = touched * 4 / job.fleet->accelerator()->memory_bandwidth;
  const workload::CollectiveCall exchange{workload::Collective::all_to_all, touched, group};
  EmbeddingCost cost{.time = memory + 2 * links.time(exchange).time};
  if (e.placement == design::EmbeddingPlacement::device) {
    cost.per_device = Bytes(e.rows * row * 2 / gpus);  // weights and one moment a row
  }
  return cost;
}

// What a power cap leaves of the matrix speed.
double capped_share(const Fleet& fleet) {
  const auto tdp = fleet.accelerator()->tdp;
  const auto cap = fleet.fleet->power_cap;
  return tdp && cap ? capped_speed(std::min(1.0, *cap / *tdp), facility::Boundness::compute) : 1;
}

int even_split(int batch, int available, int per_host) {
  for (int gpus = available; gpus >= 1; gpus -= gpus > per_host ? per_host : 1) {
    if (batch % gpus == 0) return gpus;
  }
  return 1;
}

}  // namespace

void fill_plain_step(TrainJob& job, const Machine& m, int available) {
  const Fleet& fleet = *job.fleet;
  const catalog::Accelerator& a = *fleet.accelerator();
  const auto peak = peak_of(a, job.train->precision);
  if (!job.train->network || !peak || job.train->batch <= 0) {
    job.infeasible =
        "a plain network needs `network`, `batch` and an accelerator with that precision";
    return;
  }
  const int gpus =
      even_split(job.train->batch, available, std::max(1, fleet.accelerators_per_host));
  const Wiring wiring = wiring_of(fleet, m.networks_of(fleet));
  const Links links(wiring, m.models().collectives);
  const workload::GroupShape group = links.group_of(gpus);

  const double samples = static_cast<double>(job.train->batch) / gpus;
  const double speed = capped_share(fleet);
  const Seconds compute = 3 * samples * job.train->network->forward / (*peak * kEfficiency * speed);
  const workload::CollectiveCall reduce{workload::Collective::all_reduce,
                                        Bytes(job.parameters * kGradientBytes), group};
  const Seconds exposed = gpus > 1 ? links.time(reduce).time * (1 - kHidden) : Seconds(0);
  EmbeddingCost embeddings;
  if (job.train->embeddings) {
    embeddings = embedding_cost(*job.train->embeddings, job, gpus, links, group);
  }
  StepPlan& plan = job.step;
  plan.layout = fmt::format("dp{}", gpus);
  plan.replicas = gpus;
  plan.chosen = "data parallel, assumed efficiency";
  plan.step = compute + embeddings.time + exposed;
  plan.units_per_step = job.train->batch;
  plan.flops_utilisation = compute * kEfficiency / plan.step;
  plan.memory = Bytes(job.parameters * kAdamBytesPerParam) + embeddings.per_device +
                job.train->network->activations.value_or(Bytes(0)) * samples;
  plan.memory_limit = usable_memory(a);
  plan.parts = {{"matrix work", compute},
                {"embedding tables", embeddings.time},
                {"exposed gradient reduction", exposed}};
  plan.matrix_share = compute / plan.step;
  plan.memory_share = embeddings.time / plan.step;
  plan.exposed_share = exposed / plan.step;
  plan.exposed_network_share = gpus > wiring.domain ? plan.exposed_share : 0;
  plan.error = kError;
  plan.basis = Basis::assumed;
  plan.reference = "docs/models/plain-network.md";
  job.accelerators = gpus;
  if (plan.memory > plan.memory_limit) {
    job.infeasible = fmt::format("it needs {} of {} on each accelerator", brief(plan.memory),
                                 brief(plan.memory_limit));
  }
}

}  // namespace orrery::machine
