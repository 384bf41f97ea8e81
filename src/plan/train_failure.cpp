// How often the job is struck, how long it takes to come back, and whether nodes are left to run
// on.
#include <algorithm>

#include "base/probability.h"
#include "failure/rates.h"
#include "failure/spares.h"
#include "plan/train_view.h"

namespace orrery::plan {
namespace {

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

void fill_rates(FailureView& f, const machine::FailureSource& source) {
  f.node_rate = source.rate;
  f.spot_rate = source.spot;
  f.rate_reference = source.reference;
  f.rate_low = source.low;
  f.rate_high = source.high;
}

// Nodes of the fleet that the layout leaves over stand by as well as the declared spares.
int spares_of(const TrainView& view) {
  const int hosts_per_node = std::max(1, view.fleet->hosts / std::max(1, view.fleet->fleet->count));
  return view.fleet->fleet->spares * hosts_per_node + std::max(0, view.fleet->hosts - view.hosts);
}

}  // namespace

void fill_failure(TrainView& view, const machine::Machine& m) {
  FailureView& f = view.failure;
  fill_rates(f, m.failures_of(*view.fleet));
  f.mtbf = failure::job_mtbf(view.hosts, f.node_rate);
  const design::Recovery& r = m.design().scheduler.recovery;
  f.detect = r.detect.value_or(kDetect);
  f.requeue = r.requeue.value_or(kRequeue);
  if (!r.automatic) f.requeue += r.operator_response.value_or(kOperator);
  f.start = r.restart.value_or(kStart);
  f.restart = f.detect + f.requeue + f.start;

  f.spares = spares_of(view);
  // A spot node taken back is replaced from the market, not repaired.
  const PerSecond broken = f.node_rate - f.spot_rate;
  const Seconds repair = view.fleet->fleet->failures.repair.value_or(
      failure::mean_repair(kReset, kHands, kHandsShare));
  f.mean_in_repair = view.hosts * (broken * repair);
  f.shortfall = view.fleet->rented() ? 0 : poisson_above(f.spares, f.mean_in_repair);
}

}  // namespace orrery::plan
