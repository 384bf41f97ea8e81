// Claims about training at scale: failures, gangs, idle GPUs, the network, one everyday cluster.
#include <fmt/core.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/base/math.h"
#include "core/base/text.h"
#include "layers/cluster/gang.h"
#include "layers/failure/rates.h"
#include "layers/training/pipeline.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/jobs/predict_training.h"
#include "plan/verdict/verdict.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

ClaimFinding gang_7of8(const ClaimContext&) {
  ClaimFinding f{.criterion = at_least(1, figures::Unit::count)};
  f.criterion.text = "nodes are idle for ever";
  const auto held = [&](const char* label, std::vector<cluster::HeldGang> gangs, int free,
                        const char* formula) {
    const cluster::HoldOutcome o = resolve_holds(gangs, free);
    try_case(f, label,
             exact(o.deadlock ? o.nodes_idle : 0, Basis::derived, "docs/models/cluster.md"),
             formula);
  };
  held("the 8th is held by another gang that waits", {{"a", 8, 7}, {"b", 8, 1}}, 0,
       "a holds 7 of 8, b holds 1 of 8, none free");
  const std::vector<int> seven(7, 8);
  const cluster::GangAnswer never = cluster::place_gang({.nodes = 8}, seven, 8);
  try_case(f, "the machine has only 7",
           exact(never.verdict == cluster::GangVerdict::never ? 7 : 0, Basis::derived,
                 "docs/models/cluster.md"),
           fmt::format("8 nodes asked of 7: {}", to_text(never.verdict)));
  held("the 8th runs a job that ends", {{"a", 8, 7}, {"b", 1, 1}}, 0,
       "a holds 7 of 8, b has all it needs");
  const std::vector<cluster::HeldGang> gangs = {{"a", 8, 0}, {"b", 8, 0}};
  show_beside(f, "gangs that run at once when each takes all or nothing", figures::Unit::count,
              exact(gangs_started_atomically(gangs, 8), Basis::derived, "docs/models/cluster.md"));
  f.only_if =
      "it may hold nodes while it waits and the missing one is held the same way, or does "
      "not exist; all-or-nothing admission, one order or a hold timeout each end it";
  return f;
}

ClaimFinding failures_weekly(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_most(weeks(1).base(), figures::Unit::seconds)};
  f.criterion.text = "a failure at least every week";
  const failure::NodeFailureRate* r = find_rate(c.models.failure_rates, "llama3");
  if (r == nullptr) return f;
  for (const double gpus : {64.0, 256.0, 1024.0, 4096.0, 16384.0}) {
    const Seconds mtbf = failure::job_mtbf(gpus / 8, r->per_node);
    Estimate e = exact(mtbf.base(), Basis::paper, "calibration/node_failure_rates/llama3");
    e.low = failure::job_mtbf(gpus / 8, r->high).base();
    e.high = failure::job_mtbf(gpus / 8, r->low).base();
    try_case(f, grouped(static_cast<std::int64_t>(gpus)) + " GPUs", e,
             fmt::format("1 / ({} nodes x {} a node-day)", gpus / 8,
                         significant(r->per_node.base() * days(1).base(), 3)));
  }
  const auto gpus_for = [&](Seconds every) { return 8 / (r->per_node * every); };
  const auto shown = [](double gpus) {
    return grouped(static_cast<std::int64_t>(std::ceil(gpus)));
  };
  show_beside(f, "GPUs at which a failure a week is the mean", figures::Unit::count,
              within(std::ceil(gpus_for(weeks(1))), 0.4, 0.7, Basis::paper,
                     "calibration/node_failure_rates/llama3"));
  show_beside(f, "and a failure a day", figures::Unit::count,
              within(std::ceil(gpus_for(days(1))), 0.4, 0.7, Basis::paper,
                     "calibration/node_failure_rates/llama3"));
  f.only_if = fmt::format(
      "the job has {} GPUs or more (weekly), {} or more (daily), at the rate of "
      "the Llama 3 fleet; fleets differ by a factor of three",
      shown(gpus_for(weeks(1))), shown(gpus_for(days(1))));
  return f;
}

// Returns the use of a pipeline's GPUs if nothing starves it: what the bubble leaves.
double pipeline_use(int stages, int microbatches) {
  const training::StageTimes one{.forward = 1, .dgrad = 1, .wgrad = 1};
  const training::PipelineTime t = training::pipeline_time({one, one, one, stages}, microbatches, 1,
                                                           catalog::Schedule::one_f_one_b);
  return 1 - t.bubble / t.seconds;
}

ClaimFinding util_80(const ClaimContext&) {
  ClaimFinding f{.criterion = at_least(0.80, figures::Unit::ratio)};
  f.criterion.text = "a run that nothing starves uses its GPUs 80 % of the time or more";
  struct Case {
    int stages;
    int microbatches;
  };
  for (const Case k : {Case{1, 8}, Case{4, 32}, Case{8, 64}, Case{8, 8}, Case{16, 16}}) {
    try_case(f, fmt::format("pp {}, {} microbatches", k.stages, k.microbatches),
             computed(pipeline_use(k.stages, k.microbatches), 0.05, "docs/models/training.md"),
             "m / (m + p - 1)");
  }
  f.only_if =
      "the layout leaves less than 20 % bubble: 1F1B with m >= 4 (p - 1) microbatches. With "
      "fewer the GPUs idle by design and nothing else is at fault";
  return f;
}

double exposed_share(const training::StepEstimate& s) {
  double sum = 0;
  for (const training::StepPhase p :
       {training::StepPhase::tp, training::StepPhase::cp, training::StepPhase::ep,
        training::StepPhase::pp, training::StepPhase::dp}) {
    sum += s.part(p);
  }
  return s.seconds > 0 ? sum / s.seconds : 0;
}

// Share of the step that waits for the network, for an 8B model sharded over all GPUs, as most
// teams beyond one node begin.
double share_of(const ClaimContext& c, int gpus, BytesPerSecond nic) {
  jobs::TrainingQuery q{
      .model = c.model("llama-3-8b"), .accelerator = &c.accelerator("h100-sxm"), .gpus = gpus};
  q.nic = nic;
  q.sequence = 8192;
  q.batch = gpus;
  q.layout = {.tp = 1, .pp = 1, .vp = 1, .cp = 1, .ep = 1, .microbatch = 1};
  q.layout.sharding = catalog::Sharding::zero3;
  q.layout.recompute = catalog::Recompute::selective;
  const auto p = predict_training(c.models, q);
  return p ? exposed_share(p->step) : 0;
}

// Returns the NIC rate per GPU below which the share exceeds `wanted`, by bisection in the
// exponent.
BytesPerSecond rate_for_share(const ClaimContext& c, int gpus, double wanted) {
  double low = math::log(gbits_per_s(1).base());
  double high = math::log(gbits_per_s(1600).base());
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (share_of(c, gpus, BytesPerSecond(math::exp(middle))) > wanted ? low : high) = middle;
  }
  return BytesPerSecond(math::exp((low + high) / 2));
}

ClaimFinding net_above_8(const ClaimContext& c) {
  constexpr double kProblem = 0.10;
  ClaimFinding f{.criterion = at_least(kProblem, figures::Unit::ratio)};
  f.criterion.text = "at least a tenth of the step waits for the network";
  struct Case {
    int gpus;
    double gbits;
  };
  for (const Case k :
       {Case{64, 400}, Case{64, 100}, Case{64, 25}, Case{1024, 400}, Case{1024, 50}}) {
    try_case(f, fmt::format("{} H100, {} Gb/s per GPU", grouped(k.gpus), k.gbits),
             computed(share_of(c, k.gpus, gbits_per_s(k.gbits)), 0.3, "docs/models/training.md"),
             "exposed communication / step, 8B sharded over all, 8,192 tokens per GPU");
  }
  show_beside(f, "8 H100 in one node", figures::Unit::ratio,
              computed(share_of(c, 8, gbits_per_s(400)), 0.3, "docs/models/training.md"));
  const BytesPerSecond rate = rate_for_share(c, 64, kProblem);
  show_beside(f, "network rate per GPU at which 64 H100 wait a tenth of the step",
              figures::Unit::bytes_per_s, computed(rate.base(), 0.3, "docs/models/training.md"));
  f.only_if = fmt::format(
      "each GPU has less than about {} Gb/s of network (8B sharded over 64 "
      "H100); above that the step hides it",
      significant(rate / gbits_per_s(1), 2));
  return f;
}

// The template of that case, with its fleet, site and store scaled together, on 400 Gb/s
// InfiniBand.
ClaimFinding av_cluster(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_least(0.90, figures::Unit::ratio)};
  f.criterion.text = "goodput of the example design at least 90 %";
  const auto found = design_text::find_template("av-vision");
  if (!found) return f;
  auto read = design_text::read_design(found->text, c.catalog(), {.file = "av-vision.yaml"});
  if (!read || read->fleet.empty()) return f;
  design::Design d = std::move(*read);
  d.fabric.compute.switch_part = "qm9700";
  d.fabric.compute.protocol = design::Protocol::infiniband;
  const design::Design sample = d;
  for (const int gpus : {256, 512, 1024}) {
    const double scale = gpus / (8.0 * sample.fleet[0].count);
    d.fleet[0].count = gpus / 8;
    for (std::size_t i = 0; i < d.storage.size(); ++i) {
      if (sample.storage[i].read) d.storage[i].read = *sample.storage[i].read * scale;
      if (sample.storage[i].write) d.storage[i].write = *sample.storage[i].write * scale;
    }
    const review::Review r = review::run_stages(d, c.models);
    if (r.trains.empty()) continue;
    const review::TrainView& t = r.trains[0];
    try_case(
        f, fmt::format("{} H100", grouped(gpus)),
        computed(t.goodput, 0.05, "data/templates/av-vision.yaml"),
        fmt::format("run of {}, NICs {} per node", show(t.run_time.base(), figures::Unit::seconds),
                    show(r.networks().compute.per_node().base(), figures::Unit::bytes_per_s)));
  }
  f.only_if = "the store grows with the GPUs and the batch feeds them all: goodput holds at " +
              labels_of(f, true);
  return f;
}

constexpr std::array kTrainingClaims = {
    ClaimRule{"gang-7of8", gang_7of8},   ClaimRule{"failures-weekly", failures_weekly},
    ClaimRule{"util-80", util_80},       ClaimRule{"net-above-8", net_above_8},
    ClaimRule{"av-cluster", av_cluster},
};

}  // namespace

std::span<const ClaimRule> training_claims() { return kTrainingClaims; }

}  // namespace orrery::calc
