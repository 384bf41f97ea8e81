// How often the job is struck, how long it takes to come back, and whether nodes are left to run
// on.
#include <algorithm>

#include "base/probability.h"
#include "failure/rates.h"
#include "failure/spares.h"
#include "machine/train_job.h"

namespace orrery::machine {
namespace {

// A health agent notices within a minute; without one a collective's time-out takes ten.
constexpr Seconds kDetect = seconds(60);
// A job whose node goes down runs again after 147.7 s under Slurm's defaults (measured).
constexpr Seconds kRequeue = seconds(147.7);
// Containers, process groups, compilation, first batch: assumed.
constexpr Seconds kStart = seconds(120);
constexpr Seconds kOperator = minutes(30);

void fill_rates(FailurePlan& f, const FailureSource& source) {
  f.node_rate = source.rate;
  f.spot_rate = source.spot;
  f.rate_reference = source.reference;
  f.rate_low = source.low;
  f.rate_high = source.high;
}

// Nodes of the fleet that the layout leaves over stand by as well as the declared spares.
int spares_of(const TrainJob& job) {
  const int hosts_per_node = std::max(1, job.fleet->hosts / std::max(1, job.fleet->fleet->count));
  return job.fleet->fleet->spares * hosts_per_node + std::max(0, job.fleet->hosts - job.hosts);
}

}  // namespace

void fill_failure(TrainJob& job, const Machine& m) {
  FailurePlan& f = job.failure;
  fill_rates(f, m.failures_of(*job.fleet));
  f.mtbf = failure::job_mtbf(job.hosts, f.node_rate);
  const design::Recovery& r = m.design().scheduler.recovery;
  f.detect = r.detect.value_or(kDetect);
  f.requeue = r.requeue.value_or(kRequeue);
  if (!r.automatic) f.requeue += r.operator_response.value_or(kOperator);
  f.start = r.restart.value_or(kStart);
  f.restart = f.detect + f.requeue + f.start;

  f.spares = spares_of(job);
  // A spot node taken back is replaced from the market, not repaired.
  const PerSecond broken = f.node_rate - f.spot_rate;
  f.repair = job.fleet->fleet->failures.repair.value_or(failure::mean_repair({}));
  f.mean_in_repair = job.hosts * (broken * f.repair);
  f.shortfall = job.fleet->rented() ? 0 : poisson_above(f.spares, f.mean_in_repair);
}

}  // namespace orrery::machine
