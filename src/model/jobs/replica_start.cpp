#include "model/jobs/replica_start.h"

#include "layers/serving/memory.h"
#include "layers/traffic/fleet.h"
#include "model/figures/assumptions.h"
#include "model/jobs/request_shape.h"
#include "model/jobs/serving_query.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kLoadedByOne;

}  // namespace

const machine::Tier* weights_tier(const machine::Machine& m, const design::Serve& serve,
                                  const machine::Fleet& fleet) {
  if (!serve.weights_tier.empty()) return find_tier(m.tiers, serve.weights_tier);
  for (const machine::Tier& t : m.tiers) {
    const bool here = find_site(m.design(), t.tier->site) == fleet.site;
    if (here && t.tier->tier == design::Tier::hot) return &t;
  }
  return find_tier(m.tiers, "hot");
}

BytesPerSecond weights_rate(const machine::Machine& m, const machine::Tier& tier,
                            const machine::Fleet& fleet, int devices) {
  const BytesPerSecond rate = machine::reading_rate(m, tier, fleet);
  return tier.gpu_path == storage::GpuPath::direct ? rate : min(rate, kLoadedByOne * devices);
}

Seconds replica_start(const machine::Machine& m, const design::Serve& serve,
                      const machine::Fleet& fleet, int devices) {
  if (m.design().scheduler.recovery.restart) return *m.design().scheduler.recovery.restart;
  const catalog::ModelShape* model =
      serve.model.empty() ? nullptr : find_model(m.design(), m.catalog(), serve.model);
  traffic::ColdStart cold;
  if (serve.autoscale) cold.image = serve.autoscale->image.base();
  const machine::Tier* tier = weights_tier(m, serve, fleet);
  if (model != nullptr && tier != nullptr && tier->read > BytesPerSecond(0)) {
    const auto query = serving_query(m.models(), serve, *model, fleet, request_of(m, serve));
    const Bytes weights = serving::serving_weights(*model, {}, query.precision);
    cold.weights = (weights / weights_rate(m, *tier, fleet, devices)).base();
  }
  return Seconds(cold.total());
}

}  // namespace orrery::jobs
