// Rules about what runs: does it fit, does it divide, does it end in time.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "model/figures/assumptions.h"
#include "plan/review/serve_sizing.h"
#include "plan/rules/edits.h"
#include "plan/rules/rules.h"

namespace orrery::rules {
namespace {

// int8 throughput under this share of bf16's says that the part has all but lost the format.
constexpr double kLostInt8 = 0.5;
// Users of a lost site that may be turned away unsaid: what rounding leaves.
constexpr double kTurnedAway = 1e-6;

void check_feasible(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (t.feasible()) continue;
    Finding f = finding_at(r, rule, t.path + (t.train->layout ? ".layout" : ".batch"));
    f.what = fmt::format("'{}' cannot run: {}.", t.label, t.infeasible);
    f.why = "Every device must hold its share, and the batch must split evenly over the replicas.";
    f.fix = t.train->layout ? "Try layout: auto, or another batch."
                            : "Change the batch, the fleet or the model.";
    f.edit = edit_step(t);
    out.push_back(std::move(f));
  }
}

void check_idle_nodes(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  using figures::assumptions::kIdleAllowed;
  for (const review::TrainView& t : r.trains) {
    if (!t.feasible() || t.workload->terms.nodes || t.fleet->accelerators == 0) continue;
    if (t.train->layout && t.train->layout->dp) continue;  // as many as it was given
    // What others hold of the fleet is not idle; the ledger's rules see to it.
    const double beside = r.book_of(*t.fleet).held_beside(*t.workload);
    const double there = t.fleet->accelerators - beside * t.fleet->node.part.accelerators;
    const double idle = there > 0 ? 1.0 - t.accelerators / there : 0;
    if (idle <= kIdleAllowed) continue;
    Finding f = finding_at(r, rule, t.path + ".batch");
    f.what = fmt::format("'{}' uses {} of {} accelerators; the rest stand idle.", t.label,
                         grouped(t.accelerators), grouped(t.fleet->accelerators));
    f.why = fmt::format("A batch of {} does not split over more of them.", t.train->batch);
    f.edit = edit_batch(t);
    f.fix = fmt::format("Choose a batch that {} accelerators can share{}, or give `nodes`.",
                        grouped(t.fleet->accelerators),
                        f.edit ? ", for instance " + f.edit->value : "");
    out.push_back(std::move(f));
  }
}

void check_service(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    Finding f = finding_at(r, rule, v.path);
    if (!v.feasible()) {
      f.what = fmt::format("'{}' cannot be served: {}.", v.label, v.infeasible);
      f.why = "Weights, cache and objective must fit one replica.";
      f.fix = "Use more accelerators a replica, a smaller number format, or a looser objective.";
      f.edit = edit_split(r, v);
      out.push_back(std::move(f));
      continue;
    }
    const double needed = v.accelerators_for(v.replicas_needed);
    if (v.replicas >= v.replicas_needed && v.devices <= v.devices_there) continue;
    f.place = place_of(r.design(), review::replicas_path(v));
    f.what =
        v.devices > v.devices_there
            ? fmt::format("'{}' occupies {} {} of {} there.", v.label, significant(v.devices, 6),
                          v.devices_word(), significant(v.devices_there, 6))
            : fmt::format("'{}' has {} replicas and needs {} at peak.", v.label,
                          significant(v.replicas, 4), significant(v.replicas_needed, 4));
    f.why = fmt::format(
        "One replica serves {} requests a second within the objective; {} arrive at peak.",
        significant(v.capacity_per_replica.base(), 3), significant(v.peak.base(), 3));
    f.fix = fmt::format("Provide {} {}, or loosen the objective.", significant(needed, 6),
                        v.devices_word());
    f.edit = edit_service(r, v);
    out.push_back(std::move(f));
  }
}

// To three digits, of megabytes at the least.
Bytes rounded_down(Bytes room) {
  double unit = 1;
  while (room / megabytes(unit) >= 1000) unit *= 10;
  return megabytes(unit * std::max(1.0, std::floor(room / megabytes(unit))));
}

// A KV tier is where it can be: in memory or on a tier that has the room for all replicas.
void check_kv_room(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    if (!v.feasible() || !v.serve->kv_tier) continue;
    const design::KvTier& kv = *v.serve->kv_tier;
    const machine::Tier* tier = find_tier(r.machine->tiers, kv.tier);
    const bool on_host = kv.tier == design::kHostMemory || (tier != nullptr && tier->per_node);
    const double sharing =
        on_host ? std::min(v.replicas, std::max(1.0, v.replicas_on(v.fleet->accelerators_per_host)))
                : v.replicas;
    std::optional<Bytes> room = tier != nullptr ? std::optional(tier->capacity) : std::nullopt;
    const auto& custom = v.fleet->fleet->custom;
    if (kv.tier == design::kHostMemory) room = custom ? custom->memory : std::nullopt;
    if (!room || *room <= Bytes(0) || kv.capacity * sharing <= *room) continue;
    const Bytes each = rounded_down(*room / sharing);
    Finding f = finding_at(r, rule, v.path + ".kv_tier.capacity");
    f.what = fmt::format("{} replicas of '{}' keep {} of blocks each where there are {}.",
                         significant(sharing, 4), v.label, brief(kv.capacity), brief(*room));
    f.why = on_host ? "Replicas of one host share its memory and its drives."
                    : "All replicas share the tier.";
    f.fix = fmt::format("Keep {} each, or provide the room.", brief(each));
    f.edit = Edit{v.path + ".kv_tier.capacity", to_text(each)};
    out.push_back(std::move(f));
  }
}

void check_availability(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    const auto& wanted = v.workload->terms.availability;
    // Too few for the peak is the business of serving.capacity.
    if (!v.feasible() || !wanted || v.availability >= *wanted || v.availability <= 0) continue;
    Finding f = finding_at(r, rule, v.path + ".availability");
    f.what = fmt::format("'{}' is short of replicas for {} a year; {} are allowed.", v.label,
                         brief(years(1 - v.availability)), brief(years(1 - *wanted)));
    f.why = "Hosts fail and their replicas are gone until others have loaded the weights.";
    f.fix = "Run more replicas than the peak needs, on accelerators that are there for them.";
    f.edit = edit_availability(r, v);
    if (is_dark_too_long(v)) {
      f.why = fmt::format("Its site is without power for {} a year, whatever stands there.",
                          brief(years(v.dark)));
      f.fix =
          "Let batteries last until generators carry the site, or let another site take the "
          "users (`failover`), sooner.";
    }
    out.push_back(std::move(f));
  }
}

Finding failover_finding(const review::Review& r, const Rule& rule, const review::ServeView& v) {
  return finding_at(r, rule, fmt::format("{}.zones[{}].failover", v.path, v.zone));
}

// Sites that a zone names and no line leads to.
void check_ways(const review::Review& r, const Rule& rule, const review::ServeView& v,
                std::vector<Finding>& out) {
  const design::Zone& zone = v.serve->zones[v.zone];
  for (const std::string& site : zone.failover) {
    if (machine::wan_between(r.design(), zone.site, site)) continue;
    Finding f = failover_finding(r, rule, v);
    f.what = fmt::format("'{}' would go to '{}', and no line leads there.", v.label, site);
    f.why = "Requests cross to another site on the lines of `fabric.wan`.";
    f.fix = "Draw a line between the sites, or name one that can be reached.";
    out.push_back(std::move(f));
  }
}

// Lines that do not carry the requests of the site that would send the most.
void check_lines(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  std::map<std::size_t, std::pair<BytesPerSecond, const review::ServeView*>> most;
  for (const review::ServeView& v : r.serves) {
    if (!v.failover) continue;
    for (const review::FailoverTo& to : v.failover->to) {
      auto& [line, whose] = most[to.way.path.slowest];
      if (to.line > to.way.path.rate && to.line > line) line = to.line, whose = &v;
    }
  }
  for (const auto& [number, asked] : most) {
    const auto& [line, whose] = asked;
    if (whose == nullptr) continue;
    const std::string path = fmt::format("fabric.wan[{}].rate", number);
    Finding f = finding_at(r, rule, path);
    f.edit = Edit{path, at_least(line)};
    f.what = fmt::format("{} of '{}' would cross on a line of {} when its site is lost.",
                         brief(line), whose->label, brief(r.design().fabric.wan[number].rate));
    f.why = "What comes with a request must cross before it is computed.";
    f.fix = fmt::format("Rent a line of {}.", f.edit->value);
    out.push_back(std::move(f));
  }
}

// A site that is lost at peak leaves its users to others that have room for them.
void check_failover(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  check_lines(r, rule, out);
  for (const review::ServeView& v : r.serves) {
    if (!v.failover) continue;
    check_ways(r, rule, v, out);
    const review::FailoverView& lost = *v.failover;
    if (!lost.first || lost.refused <= v.peak * kTurnedAway) continue;
    Finding f = failover_finding(r, rule, v);
    f.what = fmt::format(
        "When the site of '{}' is lost at peak, {} of its {} requests a second find no room.",
        v.label, significant(lost.refused.base(), 3), significant(v.peak.base(), 3));
    f.why =
        "Zones are busiest together, and whoever takes them keeps the promise to users of its own.";
    f.edit = edit_failover(r, v);
    f.fix = fmt::format("Run more replicas at '{}'{}.", v.serve->zones[*lost.first].site,
                        f.edit && f.edit->path.ends_with(".replicas") ? ": " + f.edit->value : "");
    out.push_back(std::move(f));
  }
}

Finding late(const review::Review& r, const Rule& rule, const std::string& path,
             const std::string& label, Seconds takes, Seconds bound) {
  Finding f = finding_at(r, rule, path);
  f.what = fmt::format("'{}' takes {} and must end within {}.", label, brief(takes), brief(bound));
  f.why = "Goodput, waiting for data and restarts are in the figure.";
  f.fix = fmt::format("Add machines ({} times as many at the same efficiency), or shorten the run.",
                      significant(takes / bound, 2));
  return f;
}

void check_deadline(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.feasible() || t.run_time <= Seconds(0)) continue;
    const auto& repeat = t.train->repeat;
    if (t.train->deadline && t.run_time > *t.train->deadline) {
      const std::string path = t.path + ".deadline";
      out.push_back(late(r, rule, path, t.label, t.run_time, *t.train->deadline));
      out.back().edit = edit_deadline(r, t, *t.train->deadline);
    }
    if (repeat && repeat->window && t.run_time > *repeat->window) {
      const std::string path = t.path + ".repeat.window";
      out.push_back(late(r, rule, path, t.label, t.run_time, *repeat->window));
      out.back().edit = edit_deadline(r, t, *repeat->window);
    }
  }
  for (const review::BatchView& b : r.batches) {
    if (!b.bound || b.duration <= *b.bound) continue;
    out.push_back(late(r, rule, b.path, b.label, b.duration, *b.bound));
    out.back().edit = edit_window(r, b);
  }
}

void check_int8(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const design::Workload& w : r.design().workloads) {
    const auto* serve = std::get_if<design::Serve>(&w.task);
    const machine::Fleet* fleet = fleet_of(r.fleets(), w);
    if (serve == nullptr || fleet == nullptr || fleet->accelerator() == nullptr) continue;
    if (serve->precision != catalog::Precision::int8) continue;
    const catalog::Accelerator& a = *fleet->accelerator();
    const auto int8 = a.peak(catalog::Dtype::int8);
    const auto bf16 = a.peak(catalog::Dtype::bf16);
    if (int8 && bf16 && *int8 / *bf16 >= kLostInt8) continue;
    Finding f = finding_at(r, rule, machine::path_of(w) + ".precision");
    f.what = fmt::format("'{}' serves in int8 on {}, which has {} of it.", label_of(r.design(), w),
                         a.name, int8 ? brief(*int8) : "none");
    f.why =
        "Blackwell Ultra and Rubin gave int8 up for fp4: the model would run far below its bf16 "
        "speed.";
    f.fix = "Quantise to fp8 instead.";
    f.edit = Edit{machine::path_of(w) + ".precision", "fp8"};
    out.push_back(std::move(f));
  }
}

void check_gangs(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::JobsView& j : r.jobs) {
    if (j.fleet == nullptr) continue;
    if (j.largest_fits == cluster::GangVerdict::never) {
      Finding f = finding_at(r, rule, j.path + ".sizes");
      f.what = fmt::format("Jobs of {} accelerators in '{}' can never start: the fleet has {}.",
                           j.largest, j.label, grouped(j.fleet->accelerators));
      f.why = "An all-or-nothing job waits for ever for nodes that do not exist.";
      f.fix = "Drop the size, or grow the fleet.";
      f.edit = edit_sizes(r, j);
      out.push_back(std::move(f));
    }
    if (!j.from_trace && j.queue.load >= 1) {
      Finding f = finding_at(r, rule, j.path + ".rate");
      f.what = fmt::format("'{}' offers {} of what the fleet can do: the queue has no end.",
                           j.label, show(j.queue.load, figures::Unit::ratio));
      f.why = "Arrivals times duration times size exceed the accelerators.";
      f.fix = "Grow the fleet or shed load.";
      f.edit = edit_load(r, j);
      out.push_back(std::move(f));
    }
  }
  if (!r.design().scheduler.gang && !r.trains.empty()) {
    Finding f = finding_at(r, rule, "scheduler.gang");
    f.what = "Training jobs are scheduled without gangs.";
    f.why = "Two jobs that each hold half of the nodes wait for each other for ever.";
    f.fix = "gang: true";
    f.edit = Edit{"scheduler.gang", "true"};
    out.push_back(std::move(f));
  }
}

void check_mig(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::MigView& v : r.mig) {
    if (v.fits) continue;
    Finding f = finding_at(r, rule, v.fleet->path + ".mig");
    f.what =
        v.packing.unplaced.empty()
            ? fmt::format("The slices of fleet '{}' do not fit one accelerator together.",
                          v.fleet->fleet->name)
            : fmt::format("Fleet '{}' asks for slices that its accelerator does not offer: {}.",
                          v.fleet->fleet->name, v.packing.unplaced.front());
    f.why = "Instances may not overlap in memory slices, and start only at fixed ones.";
    f.fix = "Take fewer or smaller slices; `orrery catalog mig_profiles` lists them.";
    f.edit = edit_slices(r, v);
    out.push_back(std::move(f));
  }
}

void check_spares(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.feasible() || t.failure.shortfall <= kShortfallAllowed) continue;
    Finding f = finding_at(r, rule, t.fleet->path + ".spares");
    f.what = fmt::format("With {} spare hosts '{}' lacks nodes {} of the time.", t.failure.spares,
                         t.label, show(t.failure.shortfall, figures::Unit::ratio));
    f.why =
        fmt::format("{} hosts are in repair on average.", significant(t.failure.mean_in_repair, 2));
    f.fix = "Add spare nodes, or plan the job some nodes smaller.";
    f.edit = edit_spares(t);
    out.push_back(std::move(f));
  }
}

// A faster way for a stage that moves bytes: the rate it was given, or that of the tier that holds
// it back.
std::optional<Edit> edit_way(const review::StageView& s, Seconds every) {
  // A little faster than it must be, so that it catches up.
  constexpr double kRateMargin = 1.05;
  const BytesPerSecond needed = s.out / every * kRateMargin;
  if (s.stage->rate && *s.stage->rate < needed) return Edit{s.path + ".rate", at_least(needed)};
  if (s.to->tier->write && *s.to->tier->write < needed) {
    return Edit{s.to->path + ".write", at_least(needed)};
  }
  if (s.from && s.from->tier->read && *s.from->tier->read < needed) {
    return Edit{s.from->path + ".read", at_least(needed)};
  }
  return std::nullopt;
}

void check_period(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  const review::PipelineView& p = r.pipeline;
  if (!p.every) return;
  for (const review::StageView& s : p.stages) {
    if (!s.infeasible.empty() || s.time <= *p.every) continue;
    Finding f = finding_at(r, rule, s.path);
    f.what = fmt::format("Stage '{}' takes {}; a cycle begins every {}.", s.label, brief(s.time),
                         brief(*p.every));
    f.why = "Cycles pile up before it, and the model that serves grows older with each.";
    f.fix = s.moves() ? "Give it a faster way, move less, or begin cycles less often."
                      : "Give its workload more machines, or begin cycles less often.";
    if (s.moves()) f.edit = edit_way(s, *p.every);
    out.push_back(std::move(f));
  }
}

void check_stages(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const jobs::PipelineStage& s : jobs::pipeline_of(*r.machine)) {
    if (s.infeasible.empty()) continue;
    Finding f = finding_at(r, rule, s.path);
    f.what = fmt::format("Stage '{}' can never end: {}.", s.label, s.infeasible);
    f.why = "Nothing of the pipeline behind it would run.";
    f.fix = "Draw a line between the sites in `fabric.wan`, or name a tier that can be reached.";
    out.push_back(std::move(f));
  }
}

constexpr Rule kWorkloadRules[] = {
    {"training.feasible", figures::Layer::training, Severity::error,
     "a training run has a layout that fits", "docs/models/training.md", check_feasible},
    {"training.idle-nodes", figures::Layer::training, Severity::warning,
     "the batch spreads over the whole fleet", "docs/models/training.md", check_idle_nodes},
    {"serving.capacity", figures::Layer::serving, Severity::error,
     "a service fits, and has the replicas its peak needs", "docs/models/serving.md",
     check_service},
    {"serving.kv-room", figures::Layer::serving, Severity::error,
     "the KV tier of a service has the room that its replicas keep", "docs/models/serving.md",
     check_kv_room},
    {"serving.availability", figures::Layer::serving, Severity::warning,
     "enough replicas are up as often as the workload asks", "docs/models/failure.md",
     check_availability},
    {"serving.failover", figures::Layer::serving, Severity::warning,
     "the sites that a zone names can take its users", "docs/models/serving.md", check_failover},
    {"workload.deadline", figures::Layer::cluster, Severity::error, "work ends within its window",
     "the workload's own terms", check_deadline},
    {"pipeline.period", figures::Layer::cluster, Severity::error,
     "a stage ends before the next cycle needs it", "docs/models/pipeline.md", check_period},
    {"pipeline.stages", figures::Layer::cluster, Severity::error,
     "every stage of the pipeline has a way for its bytes", "docs/models/pipeline.md",
     check_stages},
    {"serving.int8-lost", figures::Layer::serving, Severity::error,
     "int8 is not served on parts that all but lost it",
     "catalog accelerators (B300, GB300: 150-165 TOPS)", check_int8},
    {"cluster.gangs", figures::Layer::cluster, Severity::error, "gangs can start, and queues end",
     "kube-batch issue 158, koordinator 872; docs/models/cluster.md", check_gangs},
    {"cluster.mig-slices", figures::Layer::cluster, Severity::error,
     "MIG slices fit their accelerator", "NVML placement rules; catalog mig_profiles", check_mig},
    {"failure.spares", figures::Layer::failure, Severity::warning, "spares cover what is in repair",
     "docs/models/failure.md", check_spares},
};

}  // namespace

std::span<const Rule> workload_rules() { return kWorkloadRules; }

}  // namespace orrery::rules
