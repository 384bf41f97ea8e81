// How often faults stop the job, how long it takes to come back, and whether enough nodes are left.
#include <algorithm>
#include <cmath>

#include "core/base/math.h"
#include "core/base/probability.h"
#include "layers/failure/causes.h"
#include "layers/failure/lifetime.h"
#include "layers/failure/rates.h"
#include "layers/failure/spares.h"
#include "layers/failure/straggler.h"
#include "model/figures/assumptions.h"
#include "model/jobs/train_job.h"

namespace orrery::jobs {
namespace {

using figures::assumptions::kDetectTime;
using figures::assumptions::kFailedAttempts;
using figures::assumptions::kHandsNeeded;
using figures::assumptions::kHangTimeout;
using figures::assumptions::kJobStart;
using figures::assumptions::kOperatorTime;
using figures::assumptions::kRequeueTime;
using figures::assumptions::kRestartDefault;
using figures::assumptions::kRestartGiven;
using figures::assumptions::kStartOfRank;

// Hosts are new when the run begins.
void fill_rates(FailurePlan& f, const machine::FailureSource& source, const TrainJob& job) {
  const PerSecond worn = source.rate - source.spot - source.links - source.storms;
  const double early = failure::early_factor(source.shape, 1.0 / worn, job.raw_time);
  f.node_rate =
      early == 1 ? source.rate : source.spot + source.links + source.storms + worn * early;
  f.shared_rate = source.shared_rate(job.hosts);
  f.spot_rate = source.spot;
  f.rate_reference = source.reference;
  f.rate_low = source.low;
  f.rate_high = source.high;
}

// Nodes need repair for hardware faults, not for software or users, and published fleets agree far
// better on how often that happens than on interruptions: returns the geometric mean of the fleets
// that counted it.
PerSecond repair_rate(const machine::FailureSource& source, const machine::Fleet& fleet,
                      const machine::Models& models) {
  const double soft = share_of(models.fault_causes, failure::FaultGroup::software) +
                      share_of(models.fault_causes, failure::FaultGroup::hang);
  const PerSecond broken = (source.rate - source.spot) * (1 - soft);
  if (source.own) return broken;
  double logs = 0;
  double rows = 0;
  for (const char* id : {"meta-rsc-1", "meta-rsc-2", "b200-504"}) {
    const failure::NodeFailureRate* row = find_rate(models.failure_rates, id);
    if (row == nullptr) continue;
    logs += math::log(scaled_to_host(*row, std::max(1, fleet.accelerators_per_host)).base());
    ++rows;
  }
  return rows > 0 ? min(broken, PerSecond(math::exp(logs / rows))) : broken;
}

// Returns true if jobs of another workload give way to the run, which is as good as a spare.
bool makes_way(const design::Workload& other, const TrainJob& job,
               const design::Scheduler& scheduler) {
  return scheduler.preemption != design::Preemption::none &&
         std::holds_alternative<design::Jobs>(other.task) &&
         other.terms.priority < job.workload->terms.priority;
}

// Returns the spares: nodes of the fleet that neither the layout nor another workload holds count
// like the declared spares.
int spares_of(const TrainJob& job, const machine::FleetBook& book,
              const design::Scheduler& scheduler) {
  const int hosts_per_node = job.fleet->hosts_per_node();
  double beside = 0;
  for (const machine::Booking& b : book.bookings) {
    if (b.workload == job.workload || !b.held()) continue;
    beside += makes_way(*b.workload, job, scheduler) ? 0 : b.nodes;
  }
  const double left = (book.count - beside) * hosts_per_node - job.hosts;
  return job.fleet->fleet->spares * hosts_per_node +
         static_cast<int>(std::max(0.0, std::floor(left + 1e-9)));
}

// Returns the share of the run's rate that is lost with `hosts_missing` hosts more than the spares:
// all of it, or the missing part.
double lost_with(const TrainJob& job, int hosts_missing) {
  return job.elastic ? job.elastic->lost_with(hosts_missing) : 1;
}

// Returns the share of time in which a failed shared part takes more hosts than there are spares.
double share_without_group(const machine::FailureSource& source, const TrainJob& job, int spares) {
  double out = 0;
  for (const machine::SharedFault& f : source.shared) {
    const int parts = (job.hosts + f.hosts - 1) / f.hosts;
    const int missing = std::min(f.hosts, job.hosts) - spares;
    if (missing > 0) out += parts * (f.rate * machine::kSharedRepair) * lost_with(job, missing);
  }
  return std::min(1.0, out);
}

// Returns the share lost to single hosts in repair, a Poisson number:  sum over k of P(more than
// spares + k - 1) x what the k-th missing host takes of the rate.
double share_without_hosts(const TrainJob& job, int spares, double mean_in_repair) {
  double share = 0, before = 0;
  for (int k = 1; k <= job.hosts && before < 1; ++k) {
    const double lost = lost_with(job, k);
    share += (lost - before) * poisson_above(spares + k - 1, mean_in_repair);
    before = lost;
  }
  return share;
}

}  // namespace

void fill_failure(TrainJob& job, const machine::Machine& m, const machine::FleetBook& book) {
  FailurePlan& f = job.failure;
  machine::FailureSource source = failure_source(*job.fleet, m.models(), job.hosts);
  add_shared_faults(source, job.fleet->fleet->failures, shared_parts(m, *job.fleet));
  fill_rates(f, source, job);
  f.mtbf = 1.0 / (f.node_rate * job.hosts + f.shared_rate);
  const design::Recovery& r = m.design().scheduler.recovery;
  const double hangs = share_of(m.models().fault_causes, failure::FaultGroup::hang);
  const Seconds noticed = r.detect.value_or(kDetectTime);
  // If the design gives a mean detection time, hangs are included in it, unless the design says
  // when they end.
  const Seconds hang = r.hang_timeout.value_or(r.detect ? noticed : kHangTimeout);
  f.noticed = noticed;
  f.hang = max(noticed, hang);
  f.detect = noticed + max(Seconds(0), hang - noticed) * hangs;
  f.requeue = r.requeue.value_or(kRequeueTime);
  if (!r.automatic) f.requeue += r.operator_response.value_or(kOperatorTime);
  f.start = r.restart.value_or(kJobStart + kStartOfRank * job.accelerators);
  // Times that all come from the design are means of what happened there, failed attempts included.
  const bool given = r.detect && r.requeue && r.restart;
  f.attempts = given ? 1 : 1 / (1 - kFailedAttempts);
  f.hands = r.automatic && !given ? r.operator_response.value_or(kOperatorTime) * kHandsNeeded
                                  : Seconds(0);
  f.restart = f.detect + (f.requeue + f.start) * f.attempts + f.hands;
  f.restart_factor = given ? kRestartGiven : kRestartDefault;
  const design::Failures& own = job.fleet->fleet->failures;
  f.slow = failure::straggler_factor({.ranks = static_cast<double>(job.hosts),
                                      .slow_share = own.straggler_share.value_or(0),
                                      .slow_factor = 1 + own.straggler_slowdown.value_or(0)});

  f.spares = spares_of(job, book, m.design().scheduler);
  // A spot node that is taken back is replaced from the market, not repaired.
  const PerSecond broken = repair_rate(source, *job.fleet, m.models());
  f.repair = job.fleet->fleet->failures.repair.value_or(failure::mean_repair({}));
  f.mean_in_repair = job.hosts * (broken * f.repair);
  f.shortfall = job.fleet->rented() ? 0 : share_without_hosts(job, f.spares, f.mean_in_repair);
  f.shortfall = 1 - (1 - f.shortfall) * (1 - share_without_group(source, job, f.spares));
}

}  // namespace orrery::jobs
