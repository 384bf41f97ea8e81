// Rules about what runs: whether it fits, divides evenly and ends in time.
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

// Share of the bf16 rate below which the int8 rate shows that a part has practically dropped the
// format.
constexpr double kLostInt8 = 0.5;
// Share of users of a lost site that may be turned away without a finding: no more than rounding
// leaves.
constexpr double kTurnedAway = 1e-6;

void check_feasible(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (t.feasible()) continue;
    Finding f = finding_at(r, rule, t.path + (t.train->layout ? ".layout" : ".batch"));
    f.what = fmt::format("'{}' cannot run: {}.", t.label, t.infeasible);
    f.why = "Every device must hold its share, and the batch must divide evenly over the replicas.";
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
    // the author chose the number of accelerators
    if (t.train->layout && t.train->layout->dp) continue;
    // Nodes that other workloads hold are not idle; the rules of the ledger cover them.
    const double beside = r.book_of(*t.fleet).held_beside(*t.workload);
    const double there = t.fleet->accelerators - beside * t.fleet->node.part.accelerators;
    const double idle = there > 0 ? 1.0 - t.accelerators / there : 0;
    if (idle <= kIdleAllowed) continue;
    Finding f = finding_at(r, rule, t.path + ".batch");
    f.what = fmt::format("'{}' uses {} of {} accelerators; the rest are idle.", t.label,
                         grouped(t.accelerators), grouped(t.fleet->accelerators));
    f.why = fmt::format("A batch of {} does not divide over more of them.", t.train->batch);
    f.edit = edit_batch(t);
    f.fix = fmt::format("Choose a batch that {} accelerators can share{}, or set `nodes`.",
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
      f.fix = "Use more accelerators per replica, a smaller number format, or a looser objective.";
      f.edit = edit_split(r, v);
      out.push_back(std::move(f));
      continue;
    }
    const double needed = v.accelerators_for(v.replicas_needed);
    if (v.replicas >= v.replicas_needed && v.devices <= v.devices_there) continue;
    f.place = place_of(r.design(), review::replicas_path(v));
    f.what =
        v.devices > v.devices_there
            ? fmt::format("'{}' needs {} {}, but there are {}.", v.label, significant(v.devices, 6),
                          v.devices_word(), significant(v.devices_there, 6))
            : fmt::format("'{}' has {} replicas and needs {} at peak.", v.label,
                          significant(v.replicas, 4), significant(v.replicas_needed, 4));
    f.why = fmt::format(
        "One replica serves {} requests per second within the objective; {} arrive at peak.",
        significant(v.capacity_per_replica.base(), 3), significant(v.peak.base(), 3));
    f.fix = fmt::format("Provide {} {}, or loosen the objective.", significant(needed, 6),
                        v.devices_word());
    f.edit = edit_service(r, v);
    out.push_back(std::move(f));
  }
}

// Rounded down to three digits, and to whole megabytes.
Bytes rounded_down(Bytes room) {
  double unit = 1;
  while (room / megabytes(unit) >= 1000) unit *= 10;
  return megabytes(unit * std::max(1.0, std::floor(room / megabytes(unit))));
}

// Checks that a KV tier fits, in host memory or on a tier, with room for the blocks of all
// replicas.
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
    f.what = fmt::format("{} replicas of '{}' keep {} of blocks each, but there are only {}.",
                         significant(sharing, 4), v.label, brief(kv.capacity), brief(*room));
    f.why = on_host ? "Replicas on one host share its memory and its drives."
                    : "All replicas share the tier.";
    f.fix = fmt::format("Keep {} each, or provide the room.", brief(each));
    f.edit = Edit{v.path + ".kv_tier.capacity", to_text(each)};
    out.push_back(std::move(f));
  }
}

void check_availability(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::ServeView& v : r.serves) {
    const auto& wanted = v.workload->terms.availability;
    // Too few replicas for the peak is reported by serving.capacity.
    if (!v.feasible() || !wanted || v.availability >= *wanted || v.availability <= 0) continue;
    Finding f = finding_at(r, rule, v.path + ".availability");
    f.what = fmt::format("'{}' has too few replicas for {} per year; {} are allowed.", v.label,
                         brief(years(1 - v.availability)), brief(years(1 - *wanted)));
    f.why = "When hosts fail, their replicas are gone until others have loaded the weights.";
    f.fix = "Run more replicas than the peak needs, with accelerators for them.";
    f.edit = edit_availability(r, v);
    if (is_dark_too_long(v)) {
      f.why =
          fmt::format("Its site is without power for {} per year, however many replicas there are.",
                      brief(years(v.dark)));
      f.fix =
          "Use batteries that last until the generators carry the site, or let another site take "
          "the users (`failover`) sooner.";
    }
    out.push_back(std::move(f));
  }
}

Finding failover_finding(const review::Review& r, const Rule& rule, const review::ServeView& v) {
  return finding_at(r, rule, fmt::format("{}.zones[{}].failover", v.path, v.zone));
}

// Finds failover sites that no line leads to.
void check_ways(const review::Review& r, const Rule& rule, const review::ServeView& v,
                std::vector<Finding>& out) {
  const design::Zone& zone = v.serve->zones[v.zone];
  for (const std::string& site : zone.failover) {
    if (machine::wan_between(r.design(), zone.site, site)) continue;
    Finding f = failover_finding(r, rule, v);
    f.what = fmt::format("'{}' would fail over to '{}', but no line leads there.", v.label, site);
    f.why = "Requests reach another site over the lines of `fabric.wan`.";
    f.fix = "Declare a line between the sites, or name a site that can be reached.";
    out.push_back(std::move(f));
  }
}

// Finds lines too slow for the requests of the site that would send the most over them.
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
    f.what = fmt::format("{} of '{}' would cross a line of {} when its site is lost.", brief(line),
                         whose->label, brief(r.design().fabric.wan[number].rate));
    f.why = "The bytes of a request must cross the line before it is computed.";
    f.fix = fmt::format("Rent a line of {}.", f.edit->value);
    out.push_back(std::move(f));
  }
}

// Checks that the users of a site lost at peak find room at other sites.
void check_failover(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  check_lines(r, rule, out);
  for (const review::ServeView& v : r.serves) {
    if (!v.failover) continue;
    check_ways(r, rule, v, out);
    const review::FailoverView& lost = *v.failover;
    if (!lost.first || lost.refused <= v.peak * kTurnedAway) continue;
    Finding f = failover_finding(r, rule, v);
    f.what = fmt::format(
        "When the site of '{}' is lost at peak, {} of its {} requests per second find no room.",
        v.label, significant(lost.refused.base(), 3), significant(v.peak.base(), 3));
    f.why =
        "Zones are busiest at the same time, and a zone that takes users still has to meet the "
        "objective for its own.";
    f.edit = edit_failover(r, v);
    f.fix = fmt::format("Run more replicas at '{}'{}.", v.serve->zones[*lost.first].site,
                        f.edit && f.edit->path.ends_with(".replicas") ? ": " + f.edit->value : "");
    out.push_back(std::move(f));
  }
}

Finding late(const review::Review& r, const Rule& rule, const std::string& path,
             const std::string& label, Seconds takes, Seconds bound) {
  Finding f = finding_at(r, rule, path);
  f.what = fmt::format("'{}' takes {} but must end within {}.", label, brief(takes), brief(bound));
  f.why = "This time includes goodput, waits for data and restarts.";
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
    f.what = fmt::format("'{}' serves in int8 on {}, whose int8 rate is {}.",
                         label_of(r.design(), w), a.name, int8 ? brief(*int8) : "none");
    f.why =
        "Blackwell Ultra and Rubin gave up int8 for fp4: the model would run far below its bf16 "
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
      f.fix = "Drop the size, or enlarge the fleet.";
      f.edit = edit_sizes(r, j);
      out.push_back(std::move(f));
    }
    if (!j.from_trace && j.queue.load >= 1) {
      Finding f = finding_at(r, rule, j.path + ".rate");
      f.what = fmt::format(
          "'{}' submits {} of the work that the fleet can do: its queue grows without end.",
          j.label, show(j.queue.load, figures::Unit::ratio));
      f.why = "Arrival rate times duration times size exceeds the accelerators.";
      f.fix = "Enlarge the fleet or reduce the load.";
      f.edit = edit_load(r, j);
      out.push_back(std::move(f));
    }
  }
  if (!r.design().scheduler.gang && !r.trains.empty()) {
    Finding f = finding_at(r, rule, "scheduler.gang");
    f.what = "Training jobs are scheduled without gangs.";
    f.why = "Two jobs that each hold half of the nodes wait for each other for ever.";
    f.fix = "Set gang: true.";
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
            ? fmt::format("The slices of fleet '{}' do not fit together on one accelerator.",
                          v.fleet->fleet->name)
            : fmt::format("Fleet '{}' asks for slices that its accelerator does not offer: {}.",
                          v.fleet->fleet->name, v.packing.unplaced.front());
    f.why = "Instances may not overlap in memory slices, and can start only at fixed ones.";
    f.fix = "Use fewer or smaller slices; `orrery catalog mig_profiles` lists them.";
    f.edit = edit_slices(r, v);
    out.push_back(std::move(f));
  }
}

void check_spares(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const review::TrainView& t : r.trains) {
    if (!t.feasible() || t.failure.shortfall <= kShortfallAllowed) continue;
    Finding f = finding_at(r, rule, t.fleet->path + ".spares");
    f.what = fmt::format("With {} spare hosts, '{}' lacks nodes {} of the time.", t.failure.spares,
                         t.label, show(t.failure.shortfall, figures::Unit::ratio));
    f.why =
        fmt::format("{} hosts are in repair on average.", significant(t.failure.mean_in_repair, 2));
    f.fix = "Add spare nodes, or plan the job for fewer nodes.";
    f.edit = edit_spares(t);
    out.push_back(std::move(f));
  }
}

// Returns an edit that speeds up a stage that moves bytes: it raises the given rate, or the rate of
// the tier that limits it.
std::optional<Edit> edit_way(const review::StageView& s, Seconds every) {
  // Margin above the needed rate, so that the stage can catch up.
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
    f.what = fmt::format("Stage '{}' takes {}, but a cycle starts every {}.", s.label,
                         brief(s.time), brief(*p.every));
    f.why = "Cycles pile up before it, and the serving model gets older with each one.";
    f.fix = s.moves() ? "Give it a faster tier or line, move less data, or start cycles less often."
                      : "Give its workload more machines, or start cycles less often.";
    if (s.moves()) f.edit = edit_way(s, *p.every);
    out.push_back(std::move(f));
  }
}

void check_stages(const review::Review& r, const Rule& rule, std::vector<Finding>& out) {
  for (const jobs::PipelineStage& s : jobs::pipeline_of(*r.machine)) {
    if (s.infeasible.empty()) continue;
    Finding f = finding_at(r, rule, s.path);
    f.what = fmt::format("Stage '{}' can never end: {}.", s.label, s.infeasible);
    f.why = "Later stages of the pipeline would never run.";
    f.fix = "Declare a line between the sites in `fabric.wan`, or name a tier that can be reached.";
    out.push_back(std::move(f));
  }
}

constexpr Rule kWorkloadRules[] = {
    {"training.feasible", figures::Layer::training, Severity::error,
     "a training run has a layout that fits", "docs/models/training.md", check_feasible},
    {"training.idle-nodes", figures::Layer::training, Severity::warning,
     "the batch divides over the whole fleet", "docs/models/training.md", check_idle_nodes},
    {"serving.capacity", figures::Layer::serving, Severity::error,
     "a service fits, and has the replicas that its peak needs", "docs/models/serving.md",
     check_service},
    {"serving.kv-room", figures::Layer::serving, Severity::error,
     "there is room for the KV tier of every replica", "docs/models/serving.md", check_kv_room},
    {"serving.availability", figures::Layer::serving, Severity::warning,
     "enough replicas are up for the availability that the workload asks for",
     "docs/models/failure.md", check_availability},
    {"serving.failover", figures::Layer::serving, Severity::warning,
     "the failover sites of a zone can take its users", "docs/models/serving.md", check_failover},
    {"workload.deadline", figures::Layer::cluster, Severity::error, "work ends within its window",
     "the workload's own terms", check_deadline},
    {"pipeline.period", figures::Layer::cluster, Severity::error,
     "a stage ends before the next cycle needs it", "docs/models/pipeline.md", check_period},
    {"pipeline.stages", figures::Layer::cluster, Severity::error,
     "every stage of the pipeline can reach its data", "docs/models/pipeline.md", check_stages},
    {"serving.int8-lost", figures::Layer::serving, Severity::error,
     "int8 is not served on parts that practically dropped it",
     "catalog accelerators (B300, GB300: 150-165 TOPS)", check_int8},
    {"cluster.gangs", figures::Layer::cluster, Severity::error,
     "all-or-nothing jobs can start, and queues empty",
     "kube-batch issue 158, koordinator 872; docs/models/cluster.md", check_gangs},
    {"cluster.mig-slices", figures::Layer::cluster, Severity::error,
     "MIG slices fit their accelerator", "NVML placement rules; catalog mig_profiles", check_mig},
    {"failure.spares", figures::Layer::failure, Severity::warning,
     "spares cover the nodes in repair", "docs/models/failure.md", check_spares},
};

}  // namespace

std::span<const Rule> workload_rules() { return kWorkloadRules; }

}  // namespace orrery::rules
