#include "model/jobs/batch_work.h"

#include <algorithm>

#include "core/base/math.h"
#include "model/jobs/serving_query.h"

namespace orrery::jobs {
namespace {

// most expected losses per piece: above this it practically never ends
constexpr double kMostLosses = 20;

}  // namespace

BatchWork accelerator_work(const machine::Machine& m, const design::Batch& batch,
                           const machine::Fleet& fleet) {
  BatchWork w{.accelerator_hours = batch.accelerator_hours.value_or(0), .tasks = batch.tasks};
  if (!batch.inference) return w;
  const design::Inference& i = *batch.inference;
  const catalog::ModelShape* model = find_model(m.design(), m.catalog(), i.model);
  if (model == nullptr || fleet.accelerator() == nullptr) {
    w.infeasible = "there are no accelerators to run a model on";
    return w;
  }
  if (fleet.slices.size() > 1) {
    w.infeasible = "its accelerators are cut into slices of several sizes";
    return w;
  }
  const serving::RequestShape request{.input = i.input_tokens, .output = i.output_tokens};
  const design::Serve serve{.engine = i.engine, .precision = i.precision};
  ServingQuery q = serving_query(m.models(), serve, *model, fleet, request);
  const auto tp = i.tp ? i.tp : least_tp(m.models(), q, fleet.accelerators_per_host);
  q.split.tp = tp.value_or(1);
  const auto replica = replica_of(m.models(), q);
  if (!replica) {
    w.infeasible = replica.error().front().what;
    return w;
  }
  const machine::Costs costs = serving_costs(m.models(), q);
  w.devices = static_cast<int>(q.split.devices());
  w.rate = capacity(*replica, request, {}, serving_source(costs)).requests;
  if (w.rate <= PerSecond(0)) w.infeasible = "not even one request fits next to the weights";
  if (!w.infeasible.empty()) return w;
  w.accelerator_hours = i.requests / w.rate.base() * q.accelerators() / hours(1).base();
  w.tasks = batch.tasks * w.devices;
  return w;
}

double work_again(Seconds piece, PerSecond lost) {
  const double expected = std::min(piece * lost, kMostLosses);
  return expected > 0 ? math::expm1(expected) / expected : 1;
}

}  // namespace orrery::jobs
