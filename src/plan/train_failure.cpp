// How often the job is struck, how long it takes to come back, and whether nodes are left to run
// on.
#include <algorithm>

#include "base/probability.h"
#include "cost/rental.h"
#include "failure/rates.h"
#include "failure/spares.h"
#include "plan/train_view.h"

namespace orrery {
namespace {

// Between the published fleets (Llama 3: 3.79, Meta RSC: 2.34 to 6.50 failures per 1000 node-days);
// the largest and best documented run is the default.
constexpr const char* kDefaultRate = "llama3";
// A health agent notices within a minute; without one a collective's time-out takes ten.
constexpr Seconds kDetect = seconds(60);
// A job whose node goes down runs again after 147.7 s under Slurm's defaults (measured).
constexpr Seconds kRequeue = seconds(147.7);
// Containers, process groups, compilation, first batch: assumed.
constexpr Seconds kStart = seconds(120);
constexpr Seconds kOperator = minutes(30);
// Four in five come back after a reset within half an hour, the rest wait a day for hands: assumed.
constexpr Seconds kReset = minutes(30);
constexpr Seconds kHands = days(1);
constexpr double kHandsShare = 0.2;

// How often the market takes one node back.
PerSecond spot_rate_of(const design::Rent& rent, const Catalog& catalog,
                       const std::string& accelerator) {
  double share = 0.10;  // where no band is published: the middle of those that are
  for (const SpotBand& band : catalog.spot_bands) {
    if (band.accelerator_id == accelerator && band.low_month && band.high_month) {
      share = (*band.low_month + *band.high_month) / 2;
    }
  }
  return spot_hazard(rent.interruption.value_or(share));
}

void fill_rates(FailureView& f, const TrainView& view, const TrainContext& c) {
  const design::Failures& own = view.fleet->fleet->failures;
  const auto rates = published_node_failure_rates();
  const NodeFailureRate* published = rates ? find_rate(*rates, kDefaultRate) : nullptr;
  PerSecond base(1.0 / days(264).base());
  f.rate_reference = "assumed: one failure in 264 node-days";
  if (published) {
    base = scaled_to_host(*published, std::max(1, view.fleet->accelerators_per_host));
    f.rate_reference = "calibration/node_failure_rates: " + published->source;
    f.rate_low = published->low / published->per_node;
    f.rate_high = published->high / published->per_node;
  }
  if (own.node_mtbf) {
    base = 1.0 / *own.node_mtbf;
    f.rate_reference = "the design";
    f.rate_low = f.rate_high = 1;
  }
  f.node_rate = mean_node_rate(
      base, {.share = own.lemon_share.value_or(0), .multiplier = own.lemon_factor.value_or(1)});
  const auto& rent = view.fleet->fleet->rent;
  if (rent && rent->contract == Contract::spot && view.fleet->accelerator()) {
    f.spot_rate = spot_rate_of(*rent, c.catalog, view.fleet->accelerator()->id);
    f.node_rate += f.spot_rate;
  }
}

// Nodes of the fleet that the layout leaves over stand by as well as the declared spares.
int spares_of(const TrainView& view) {
  const int hosts_per_node = std::max(1, view.fleet->hosts / std::max(1, view.fleet->fleet->count));
  return view.fleet->fleet->spares * hosts_per_node + std::max(0, view.fleet->hosts - view.hosts);
}

}  // namespace

void fill_failure(TrainView& view, const TrainContext& c) {
  FailureView& f = view.failure;
  fill_rates(f, view, c);
  f.mtbf = job_mtbf(view.hosts, f.node_rate);
  const design::Recovery& r = c.design.scheduler.recovery;
  f.detect = r.detect.value_or(kDetect);
  f.requeue = r.requeue.value_or(kRequeue);
  if (!r.automatic) f.requeue += r.operator_response.value_or(kOperator);
  f.start = r.restart.value_or(kStart);
  f.restart = f.detect + f.requeue + f.start;

  f.spares = spares_of(view);
  // A spot node taken back is replaced from the market, not repaired.
  const PerSecond broken = f.node_rate - f.spot_rate;
  const Seconds repair =
      view.fleet->fleet->failures.repair.value_or(mean_repair(kReset, kHands, kHandsShare));
  f.mean_in_repair = view.hosts * (broken * repair);
  f.shortfall = view.fleet->rented() ? 0 : poisson_above(f.spares, f.mean_in_repair);
}

}  // namespace orrery
