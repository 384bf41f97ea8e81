#include "output/emit/prometheus_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/math.h"
#include "core/base/probability.h"
#include "core/base/text.h"
#include "model/figures/assumptions.h"
#include "model/figures/half_width.h"
#include "plan/verdict/sections.h"
#include "plan/verdict/verdict.h"

namespace orrery::emit {
namespace {

using figures::FigureId;

constexpr double kSecondsPerDay = 86'400;
constexpr double kDaysPerMonth = 30;
// Share of jobs that wait longer than the reported wait.
constexpr double kTail = 0.1;
using figures::assumptions::kShortfallAllowed;
constexpr int kSparesMax = 10'000;
using figures::assumptions::kHitSpread;
using figures::assumptions::kInRepairAbove;
using figures::assumptions::kInRepairBelow;
using figures::assumptions::kLatencySpread;
using figures::assumptions::kTimeShareAbove;
using figures::assumptions::kTimeShareBelow;

class Values {
 public:
  explicit Values(const review::Review& review) : sections_(verdict::all_sections(review)) {}

  void add(std::string metric, std::string help, MetricLabels labels, Estimate estimate) {
    if (!std::isfinite(estimate.value) || estimate.value <= 0) return;
    all_.push_back({std::move(metric), std::move(help), std::move(labels), std::move(estimate)});
  }

  // Adds a figure of the review, times `factor`, under the metric's name; adds nothing if the
  // review has no such figure.
  void figure(std::string metric, std::string help, MetricLabels labels, FigureId id,
              std::string_view section, double factor = 1, std::string_view of = {}) {
    for (const figures::Section& s : sections_) {
      if (s.layer != kind_of(id).layer || s.name != section) continue;
      for (const figures::Figure& f : s.figures) {
        if (f.kind != id || f.of != of) continue;
        return add(std::move(metric), std::move(help), std::move(labels), f.estimate * factor);
      }
    }
  }

  std::vector<PlannedValue> sorted() && {
    std::ranges::stable_sort(all_, {}, &PlannedValue::metric);
    return std::move(all_);
  }

 private:
  std::vector<figures::Section> sections_;
  std::vector<PlannedValue> all_;
};

void add_fleet(Values& values, const machine::Fleet& f) {
  const MetricLabels labels = {{"fleet", f.fleet->name}};
  const std::string reference = "the design";
  values.add("nodes", "Hosts of a fleet that are in service.", labels,
             exact(f.hosts, Basis::derived, reference));
  values.add("gpus", "Accelerators of a fleet that are in service.", labels,
             exact(f.accelerators, Basis::derived, reference));
  if (has_dcgm(f)) {
    values.figure("gpu_power_limit_watts", "Power limit of one GPU.", labels, FigureId::power_limit,
                  f.fleet->name);
    values.figure("fleet_gpu_limit_watts", "Power limit of all GPUs of a fleet.", labels,
                  FigureId::power_limit, f.fleet->name, f.accelerators);
  }
}

void add_time_shares(Values& values, const review::TrainView& t) {
  const failure::TimeShares& s = t.shares;
  const std::pair<const char*, double> kinds[] = {{"productive", s.productive},
                                                  {"checkpoint", s.saving},
                                                  {"lost", s.lost_work},
                                                  {"restart", s.restarting}};
  for (const auto& [kind, share] : kinds) {
    values.add("time_share_ratio", "Share of a workload's wall time by cause.",
               {{"kind", kind}, {"workload", t.label}},
               within(share, kTimeShareBelow, kTimeShareAbove, Basis::derived,
                      "docs/models/failure.md"));
  }
}

// Published failure rates of nodes differ between fleets; the interval covers them.
Estimate with_rate_range(double rate, const jobs::FailurePlan& f) {
  return {.value = rate,
          .low = rate * (f.rate_low > 0 ? std::min(1.0, f.rate_low) : 1),
          .high = rate * std::max(1.0, f.rate_high),
          .basis = Basis::paper,
          .reference = f.rate_reference};
}

void add_train(Values& values, const review::TrainView& t) {
  const MetricLabels labels = {{"workload", t.label}};
  values.figure("goodput_ratio", "Share of wall time that is productive training.", labels,
                FigureId::goodput, t.label);
  values.figure("step_time_seconds", "Time of one training step.", labels, FigureId::step_time,
                t.label);
  values.figure("useful_units_per_second",
                "Tokens or samples per second, including lost time (goodput).", labels,
                t.model ? FigureId::useful_rate : FigureId::useful_samples, t.label);
  values.figure("mfu_ratio", "Model FLOP utilisation of a step.", labels, FigureId::mfu, t.label);
  values.figure("checkpoint_interval_seconds", "Time between two checkpoints.", labels,
                FigureId::interval, t.label + " checkpoint");
  values.figure("restart_seconds", "Time from a failure to useful work.", labels, FigureId::restart,
                t.label);
  values.figure("gpu_power_watts", "Mean power draw of one GPU during a step.", labels,
                FigureId::draw, t.fleet->fleet->name, 1, t.label);
  add_time_shares(values, t);
  const double per_day = t.failure.mtbf > Seconds(0) ? kSecondsPerDay / t.failure.mtbf.base() : 0;
  values.add("failures_per_day", "Failures per day that interrupt a workload.", labels,
             with_rate_range(per_day, t.failure));
  values.add(
      "matrix_share_ratio", "Share of a step spent in matrix products.", labels,
      within(t.step.matrix_share, t.step.error, t.step.error, t.step.basis, t.step.reference));
}

// Adds the planned hit rate of the tier between the data set and the run.
void add_caches(Values& values, const review::Review& review) {
  for (const machine::Tier& cache : review.tiers()) {
    if (cache.tier->caches.empty()) continue;
    double least = 0;
    for (const review::TrainView& t : review.trains) {
      if (!t.feasible() || !t.feed.known || t.feed.tier == nullptr || t.feed.hit_rate <= 0)
        continue;
      if (t.feed.tier->label != cache.tier->caches) continue;
      least = least > 0 ? std::min(least, t.feed.hit_rate) : t.feed.hit_rate;
    }
    values.add("cache_hit_ratio", "Share of reads answered by a caching tier.",
               {{"tier", cache.label}},
               {.value = least,
                .low = least * (1 - kHitSpread),
                .high = std::min(1.0, least * (1 + kHitSpread)),
                .basis = Basis::derived,
                .reference = "docs/models/storage.md"});
  }
}

void add_tier(Values& values, const machine::Tier& v) {
  const MetricLabels labels = {{"tier", v.label}};
  const std::string section = v.label + " tier";
  values.figure("tier_read_bytes_per_second", "Read rate of a tier (per node if it is node-local).",
                labels, FigureId::read, section);
  values.figure("tier_write_bytes_per_second",
                "Write rate of a tier (per node if it is node-local).", labels, FigureId::write,
                section);
  values.figure("tier_capacity_bytes", "Usable capacity of a tier.", labels, FigureId::capacity,
                section);
  const bool given = v.tier->first_byte.has_value();
  values.add("tier_latency_seconds", "Time to the first byte of a read.", labels,
             within(v.first_byte.base(), kLatencySpread, kLatencySpread,
                    given ? Basis::derived : Basis::assumed,
                    given ? "the design" : "docs/models/storage.md"));
}

// P(W > t) = C e^(-t / Ww) for a queue whose waits, if any, are exponential: exact for M/M/c. If C
// is below a tenth, the job at this percentile does not wait; the mean is used instead.
Estimate wait_p90(const cluster::QueueWait& q) {
  const double wait = q.mean_wait_of_waiting.base();
  const double tail = q.wait_chance > kTail ? wait * math::log(q.wait_chance / kTail) : 0;
  return figures::estimated(FigureId::mean_wait, std::max(tail, q.mean_wait.base()),
                            Basis::assumed, "docs/models/cluster.md");
}

void add_queue(Values& values, const review::Review& review) {
  std::optional<Estimate> longest;
  double queued = 0;
  double load = 0;
  for (const review::JobsView& j : review.jobs) {
    if (j.from_trace || !j.queue.stable) continue;
    const Estimate p90 = wait_p90(j.queue);
    if (!longest || p90.value > longest->value) longest = p90;
    queued += j.queue.mean_queue;
    load = std::max(load, j.queue.load);
  }
  if (!longest) return;
  values.add("queue_wait_p90_seconds", "Wait that one job in ten exceeds, in the longest queue.",
             {}, *longest);
  values.add("queue_jobs", "Jobs that wait, on average.", {},
             figures::estimated(FigureId::mean_wait, queued, Basis::assumed,
                                "docs/models/cluster.md"));
  values.add("queue_load_ratio", "Share of the jobs' accelerators that are busy.", {},
             figures::estimated(FigureId::load, load, Basis::derived, "docs/models/cluster.md"));
}

// Adds, over all runs, the mean number of nodes in repair, the contribution of one node, and the
// fewest spares, whatever the design declares.
void add_spares(Values& values, const review::Review& review) {
  int needed = 0;
  double in_repair = 0;
  Estimate monthly;
  for (const review::TrainView& t : review.trains) {
    if (!t.feasible() || t.fleet->rented()) continue;
    int k = 0;
    while (k < kSparesMax && poisson_above(k, t.failure.mean_in_repair) >= kShortfallAllowed) ++k;
    needed += k;
    in_repair += t.failure.mean_in_repair;
    const double rate = t.failure.node_rate.base() * kSecondsPerDay * kDaysPerMonth;
    if (rate > monthly.value) monthly = with_rate_range(rate, t.failure);
  }
  values.add("node_failures_per_month", "Failures of one node in 30 days.", {}, monthly);
  values.add("nodes_in_repair", "Nodes of training runs in repair, on average.", {},
             within(in_repair, kInRepairBelow, kInRepairAbove, Basis::assumed,
                    "docs/models/failure.md"));
  values.add("spare_nodes", "Spare nodes needed so that runs are rarely short of nodes.", {},
             exact(needed, Basis::derived, "docs/models/failure.md"));
}

void add_site(Values& values, const review::SiteView& s) {
  if (!s.has_machines()) return;
  const MetricLabels labels = {{"site", s.site->name}};
  values.figure("site_it_watts", "Mean power draw of a site's machines.", labels, FigureId::it_mean,
                s.site->name);
  values.figure("site_pue_factor", "Power usage effectiveness.", labels, FigureId::pue,
                s.site->name);
}

}  // namespace

bool has_dcgm(const machine::Fleet& fleet) {
  return fleet.accelerator() != nullptr && lowered(fleet.accelerator()->vendor) == "nvidia";
}

std::vector<PlannedValue> planned_values(const review::Review& review) {
  Values values(review);
  for (const machine::Fleet& f : review.fleets()) add_fleet(values, f);
  for (const review::TrainView& t : review.trains) {
    if (t.feasible()) add_train(values, t);
  }
  for (const machine::Tier& t : review.tiers()) add_tier(values, t);
  add_caches(values, review);
  add_queue(values, review);
  add_spares(values, review);
  for (const review::SiteView& s : review.sites) add_site(values, s);
  return std::move(values).sorted();
}

std::vector<PlannedValue> planned_of(const std::vector<PlannedValue>& all,
                                     std::string_view metric) {
  std::vector<PlannedValue> found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [metric](const PlannedValue& v) { return v.metric == metric; });
  return found;
}

}  // namespace orrery::emit
