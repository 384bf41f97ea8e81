#include "app/cli/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/cli/session.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "model/jobs/build_machine.h"
#include "model/machine/machine.h"
#include "output/report/document.h"
#include "study/rehearse/pod_replay.h"
#include "study/rehearse/replay.h"
#include "study/rehearse/rewind.h"
#include "twin/world/fleet_pool.h"

namespace orrery::cli {
namespace {

// Limits beyond which a replay takes minutes and shows nothing new about a queue.
constexpr std::int64_t kReplayGpusMax = 10'000'000;
constexpr std::int64_t kReplayNodesMax = 200'000;

struct Stage {
  workload::JobTrace trace;
  cluster::NodePool pool;
  std::string fleet;  // description for the reader
  std::vector<cluster::BackfillVariant> policies;
  rehearse::ReplayOptions options;
};

struct Played {
  cluster::BackfillVariant policy;
  rehearse::ReplayResult result;
};

Diagnostic replay_usage(std::string what, std::string fix) {
  return {.code = "usage.replay", .what = std::move(what), .fix = std::move(fix)};
}

template <class E>
std::optional<E> replay_word(const std::string& text, const char* option, Diagnostics& faults) {
  const auto value = from_word<E>(text);
  if (!value) {
    faults.push_back(
        replay_usage(fmt::format("{} {} is not known", option, text), listed(word_list<E>())));
  }
  return value;
}

std::optional<Seconds> replay_time(const std::optional<std::string>& text, const char* option,
                                   Diagnostics& faults) {
  if (!text) return std::nullopt;
  const auto value = parse_quantity<Seconds>(*text);
  if (value && *value >= Seconds()) return *value;
  faults.push_back(
      replay_usage(fmt::format("{} {} is not a time", option, *text), "30 d, 4 h, 2 min"));
  return std::nullopt;
}

// Returns a pool without nodes. If reservations must name nodes (easy-sticky), every GPU is a node.
cluster::NodePool plain_pool(int gpus, bool is_named) {
  if (!is_named) return cluster::NodePool({gpus});
  return cluster::NodePool(std::vector<int>(static_cast<std::size_t>(gpus), 1));
}

Result<cluster::NodePool> pool_of_options(const ReplayArguments& o, std::string& words) {
  if (o.gpus > 0 && o.nodes > 0)
    return fail(replay_usage("--gpus and --nodes exclude each other", ""));
  if (o.gpus < 0 || o.gpus > kReplayGpusMax || o.nodes < 0 || o.nodes > kReplayNodesMax ||
      o.gpus_per_node < 1 || o.gpus_per_node > 64) {
    return fail(replay_usage("the fleet size is out of range",
                             "--gpus N, or --nodes N --gpus-per-node 1..64"));
  }
  if (o.gpus > 0) {
    const bool is_named = std::ranges::find(o.policies, "easy-sticky") != o.policies.end();
    words = fmt::format("{} GPUs in one pool", grouped(o.gpus));
    return plain_pool(static_cast<int>(o.gpus), is_named && o.gpus <= kReplayNodesMax);
  }
  Diagnostics faults;
  const auto rule = replay_word<cluster::PlacementRule>(o.placement, "--placement", faults);
  if (!rule) return std::unexpected(std::move(faults));
  const int nodes = static_cast<int>(o.nodes);
  const int leaf = o.nodes_per_leaf > 0 ? static_cast<int>(o.nodes_per_leaf) : 32;
  words = fmt::format("{} nodes of {} GPUs, placed by {}", grouped(o.nodes), o.gpus_per_node,
                      word_of(*rule));
  return cluster::NodePool(
      std::vector<int>(static_cast<std::size_t>(nodes), static_cast<int>(o.gpus_per_node)), *rule,
      cluster::even_tree(nodes, leaf, 16));
}

// Takes the fleet and the scheduler from a design.
Result<void> take_design(const std::string& path, Stage& stage, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return std::unexpected(models.error());
  const auto design = load_design(path, models->catalog(), terminal);
  if (!design) return std::unexpected(design.error());
  const machine::Machine machine = jobs::build_machine(*design, *models);
  stage.pool = world::pool_of(machine);
  if (stage.pool.gpus() == 0) {
    return fail({.code = "replay.fleet",
                 .place = {.file = path},
                 .what = "the design has no fleet with accelerators that Slurm schedules"});
  }
  stage.fleet = fmt::format("{}: {} nodes, {} GPUs", design->name, grouped(stage.pool.nodes()),
                            grouped(stage.pool.gpus()));
  if (stage.policies.empty()) {
    stage.policies.push_back(world::variant_of(design->scheduler.backfill));
  }
  return {};
}

void read_times(const ReplayArguments& o, Stage& stage, Diagnostics& faults) {
  stage.options.node_mtbf = replay_time(o.mtbf, "--mtbf", faults).value_or(Seconds());
  stage.options.repair = replay_time(o.repair, "--repair", faults).value_or(Seconds());
  stage.options.checkpoint = replay_time(o.checkpoint, "--checkpoint", faults).value_or(Seconds());
  stage.options.queue.requeue_delay =
      replay_time(o.requeue, "--requeue", faults).value_or(Seconds());
  stage.options.ask_at = replay_time(o.why, "--why", faults);
}

Result<void> take_slice(const ReplayArguments& o, workload::JobTrace& trace) {
  const auto count = static_cast<std::int64_t>(trace.jobs.size());
  if (o.from < 0 || o.take < 0 || o.from >= count) {
    return fail(replay_usage(fmt::format("the trace has {} jobs", grouped(count)),
                             "give --from a smaller number"));
  }
  const std::int64_t end = o.take > 0 ? std::min(count, o.from + o.take) : count;
  std::vector<workload::JobRecord> part(trace.jobs.begin() + o.from, trace.jobs.begin() + end);
  trace.jobs = std::move(part);
  const Seconds first = trace.jobs.front().submit;
  for (workload::JobRecord& job : trace.jobs) job.submit -= first;
  return {};
}

Result<Stage> stage_of(const ReplayArguments& o, const std::string& text, const std::string& design,
                       Terminal& terminal) {
  Stage stage;
  Diagnostics faults;
  for (const std::string& policy : o.policies) {
    const auto variant = replay_word<cluster::BackfillVariant>(policy, "--policy", faults);
    if (variant) stage.policies.push_back(*variant);
  }
  read_times(o, stage, faults);
  std::optional<workload::JobFormat> format;
  if (!o.trace_format.empty())
    format = replay_word<workload::JobFormat>(o.trace_format, "--trace-format", faults);
  if (design.empty() && o.gpus == 0 && o.nodes == 0) {
    faults.push_back(
        replay_usage("a replay needs a fleet", "name a DESIGN, --gpus N or --nodes N"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  auto trace = workload::read_jobs(text, o.file, format);
  if (!trace) return std::unexpected(trace.error());
  stage.trace = std::move(*trace);
  if (auto cut = take_slice(o, stage.trace); !cut) return std::unexpected(cut.error());
  if (o.gpus != 0 || o.nodes != 0) {
    auto pool = pool_of_options(o, stage.fleet);
    if (!pool) return std::unexpected(pool.error());
    stage.pool = std::move(*pool);
  } else if (auto taken = take_design(design, stage, terminal); !taken) {
    return std::unexpected(taken.error());
  }
  if (stage.policies.empty()) stage.policies.push_back(cluster::BackfillVariant::easy);
  return stage;
}

// Replays pods that request shares of GPUs: measures how full the fleet gets, without a queue.
ExitCode run_pods(const ReplayArguments& o, const std::string& text, std::uint64_t seed,
                  Format format, Terminal& terminal) {
  Diagnostics faults;
  if (!o.pod_nodes)
    faults.push_back(replay_usage("a trace of pods needs a list of nodes", "--pod-nodes FILE"));
  std::vector<cluster::PodRule> rules;
  for (const std::string& policy : o.policies) {
    if (const auto rule = replay_word<cluster::PodRule>(policy, "--policy", faults)) {
      rules.push_back(*rule);
    }
  }
  if (!(o.load > 0 && o.load <= 10))
    faults.push_back(replay_usage("--load is out of range", "0.1 to 10"));
  const auto pods = workload::read_pods(text, o.file);
  if (!pods) faults.insert(faults.end(), pods.error().begin(), pods.error().end());
  if (!faults.empty()) return refuse(terminal, faults);
  const auto node_text = terminal.read_file(*o.pod_nodes);
  if (!node_text) return refuse(terminal, node_text.error());
  const auto nodes = workload::read_pod_nodes(*node_text, *o.pod_nodes);
  if (!nodes) return refuse(terminal, nodes.error());
  if (rules.empty()) rules = {cluster::PodRule::best_fit, cluster::PodRule::fgd};
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("trace", o.file).field("load", o.load);
  w.field("nodes", nodes->size()).key("policies").begin_array();
  std::string lines = fmt::format(
      "{} pods of {}, repeated at random up to {} times the GPUs of {} nodes; no pod leaves\n"
      "\n"
      "  {:<10} {:>10} {:>10} {:>12} {:>22}\n",
      grouped(std::ssize(*pods)), o.file, significant(o.load, 3), grouped(std::ssize(*nodes)),
      "policy", "allocated", "placed", "turned away", "free but unusable");
  for (const cluster::PodRule rule : rules) {
    const auto r =
        rehearse::replay_pods(*pods, *nodes, {.rule = rule, .load = o.load, .seed = seed});
    w.begin_object().field("policy", word_of(rule)).field("pods", r.pods);
    w.field("placed", r.placed).field("turned_away", r.turned_away);
    w.field("allocated", r.allocated).field("fragmented", r.fragmented).end_object();
    lines += fmt::format("  {:<10} {:>8.2f} % {:>10} {:>12} {:>20.1f} %\n", word_of(rule),
                         r.allocated * 100, grouped(r.placed), grouped(r.turned_away),
                         r.fragmented * 100);
  }
  w.end_array().end_object();
  terminal.out << (format == Format::json ? w.text() + '\n'
                                          : report::folded(lines, terminal.style.width));
  return ExitCode::good;
}

std::string wait_row(std::string_view name, const rehearse::ReplayWait& w) {
  const auto t = [](double s) { return brief(seconds(s)); };
  return fmt::format("  {:<14} {:>10} {:>10} {:>10} {:>10} {:>10}\n", name, t(w.mean_s),
                     t(w.median_s), t(w.p90_s), t(w.p99_s), t(w.max_s));
}

// Returns the answers for waiting jobs; jobs with the same answer share a line, at the first of
// them.
std::string answers_of(const rehearse::ReplayResult& r, const Stage& stage) {
  std::string out;
  std::set<std::string> seen;
  for (const rehearse::ReplayAnswer& first : r.answers) {
    if (!seen.insert(first.text).second) continue;
    std::string jobs;
    int many = 0;
    for (const rehearse::ReplayAnswer& a : r.answers) {
      if (a.text != first.text) continue;
      jobs += fmt::format("{}{} ({} GPUs)", many++ == 0 ? "" : ", ", a.job,
                          stage.trace.jobs[a.job].gpus);
    }
    out += fmt::format("    job{} {}: {}\n", many > 1 ? "s" : "", jobs, first.text);
  }
  return out;
}

std::string text_of(const Played& p, const Stage& stage) {
  const rehearse::ReplayResult& r = p.result;
  const double all = r.productive + r.lost + r.idle + r.down;
  const auto share = [&](double part) { return fmt::format("{:.1f} %", part / all * 100); };
  std::string out = fmt::format("\n{}: {}\n\n", word_of(p.policy), rules_of(p.policy));
  out += fmt::format("  {:<14} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "wait", "mean", "median",
                     "p90", "p99", "longest");
  out += wait_row("all jobs", r.wait);
  if (r.wait_wide.max_s > 0) out += wait_row("8 GPUs or more", r.wait_wide);
  out += fmt::format("  mean wait {:.1f} s, bounded slowdown {}; all done after {}\n",
                     r.wait.mean_s, significant(r.slowdown, 3), brief(r.span));
  out += fmt::format("  GPU time: {} productive, {} idle", share(r.productive), share(r.idle));
  if (r.node_failures > 0) {
    out += fmt::format(", {} repeated, {} down; {} node failures stopped {} runs", share(r.lost),
                       share(r.down), grouped(r.node_failures), grouped(r.stops));
  }
  out += '\n';
  if (r.rejected > 0) {
    out += fmt::format("  {} jobs need more GPUs than the fleet has in one place and never start\n",
                       grouped(r.rejected));
  }
  if (stage.options.ask_at) {
    out += fmt::format("  {} jobs wait at {}:\n",
                       grouped(static_cast<std::int64_t>(r.waiting_when_asked)),
                       brief(*stage.options.ask_at));
    out += answers_of(r, stage);
  }
  return out;
}

std::string head_of(const Stage& stage, const std::string& file) {
  const auto& jobs = stage.trace.jobs;
  std::string out =
      fmt::format("{} jobs of {} (read as {}) over {}, on {}\n",
                  grouped(static_cast<std::int64_t>(jobs.size())), file,
                  word_of(stage.trace.format), brief(jobs.back().submit), stage.fleet);
  if (stage.trace.left_out > 0) {
    out += fmt::format("{} rows without GPUs or run time are left out\n",
                       grouped(stage.trace.left_out));
  }
  if (!stage.trace.has_limits) out += "the trace has no time limits; run times are used instead\n";
  return out;
}

void write_wait(JsonWriter& w, const char* name, const rehearse::ReplayWait& wait) {
  w.key(name).begin_object();
  w.field("mean_s", wait.mean_s).field("median_s", wait.median_s).field("p90_s", wait.p90_s);
  w.field("p99_s", wait.p99_s).field("max_s", wait.max_s).end_object();
}

std::string json_of(const std::vector<Played>& all, const Stage& stage, const std::string& file) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("trace", file);
  w.field("format", word_of(stage.trace.format)).field("jobs", stage.trace.jobs.size());
  w.field("left_out", stage.trace.left_out).field("nodes", stage.pool.nodes());
  w.field("gpus", stage.pool.gpus()).field("seed", stage.options.seed);
  w.key("policies").begin_array();
  for (const Played& p : all) {
    const rehearse::ReplayResult& r = p.result;
    w.begin_object().field("policy", word_of(p.policy)).field("finished", r.finished);
    w.field("rejected", r.rejected).field("events", r.events).field("span_s", r.span.base());
    write_wait(w, "wait", r.wait);
    write_wait(w, "wait_wide", r.wait_wide);
    w.field("slowdown", r.slowdown).field("node_failures", r.node_failures);
    w.field("stops", r.stops).key("gpu_seconds").begin_object();
    w.field("productive", r.productive).field("lost", r.lost).field("idle", r.idle);
    w.field("down", r.down).end_object();
    if (stage.options.ask_at) {
      w.key("waiting").begin_array();
      for (const rehearse::ReplayAnswer& a : r.answers) {
        w.begin_object().field("job", a.job).field("reason", word_of(a.why.reason));
        w.field("text", a.text).end_object();
      }
      w.end_array();
    }
    w.end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

// Returns the pool with `more` GPUs added to a plain pool, or `more` nodes like the last one.
cluster::NodePool enlarged(const cluster::NodePool& pool, int more) {
  if (pool.is_plain()) return cluster::NodePool({pool.gpus() + more});
  std::vector<int> gpus;
  for (int n = 0; n < pool.nodes(); ++n) gpus.push_back(pool.gpus_on(n));
  gpus.insert(gpus.end(), static_cast<std::size_t>(more), gpus.back());
  const int nodes = static_cast<int>(gpus.size());
  return cluster::NodePool(std::move(gpus), pool.rule(), cluster::even_tree(nodes, 32, 16));
}

rehearse::RewindOptions rewind_of(const Stage& stage, std::int64_t more) {
  using enum cluster::BackfillVariant;
  rehearse::RewindOptions options{.playing = stage.options, .policies = {fifo, easy, slurm}};
  for (const cluster::BackfillVariant policy : stage.policies) {
    options.what_ifs.push_back({std::string(word_of(policy)), policy, stage.pool});
    if (more <= 0) continue;
    options.what_ifs.push_back({fmt::format("{}, {} {} more", word_of(policy), grouped(more),
                                            stage.pool.is_plain() ? "GPUs" : "nodes"),
                                policy, enlarged(stage.pool, static_cast<int>(more))});
  }
  return options;
}

std::string text_of(const rehearse::RewindResult& r) {
  const auto percent = [](double share) { return fmt::format("{:.0f} %", share * 100); };
  const auto t = [](double s) { return brief(seconds(s)); };
  std::string out = fmt::format(
      "\n"
      "calibrated on the first half ({} jobs): policy {}, {} of the fleet, at least {} from "
      "submission to start; error {} of the total wait\n",
      grouped(r.first.jobs), word_of(r.policy), percent(r.share), t(r.start_delay_s),
      percent(r.first.error));
  out += fmt::format(
      "checked on the second half ({} jobs): mean wait {} recorded, {} simulated; error {} of the "
      "total wait\n"
      "\n"
      "  {:<28} {:>12} {:>12} {:>12}\n",
      grouped(r.second.jobs), t(r.second.recorded_s), t(r.second.simulated_s),
      percent(r.second.error), "what if (second half)", "mean wait", "low", "high");
  for (const rehearse::WhatIfAnswer& a : r.answers) {
    out += fmt::format("  {:<28} {:>12} {:>12} {:>12}\n", a.name, t(a.mean_wait.value),
                       t(a.mean_wait.low), t(a.mean_wait.high));
  }
  return out;
}

void write_half(JsonWriter& w, const char* name, const rehearse::RewindHalf& half) {
  w.key(name).begin_object().field("jobs", half.jobs).field("recorded_wait_s", half.recorded_s);
  w.field("simulated_wait_s", half.simulated_s).field("error", half.error).end_object();
}

std::string json_of(const rehearse::RewindResult& r) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("policy", word_of(r.policy));
  w.field("fleet_share", r.share).field("start_delay_s", r.start_delay_s);
  write_half(w, "first_half", r.first);
  write_half(w, "second_half", r.second);
  w.key("what_if").begin_array();
  for (const rehearse::WhatIfAnswer& a : r.answers) {
    w.begin_object().field("name", a.name).field("mean_wait_s", a.mean_wait.value);
    w.field("low", a.mean_wait.low).field("high", a.mean_wait.high).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace

void bind_replay(ReplayArguments& o, Arguments& a) {
  a.option("--replay", o.file, "trace to replay: jobs (SWF, Philly, sacct -P, CSV) or pods (openb)",
           "FILE");
  a.option("--trace-format", o.trace_format,
           "format of the trace, if its first line does not show it: swf, philly, sacct, csv",
           "WORD");
  a.option("--policy", o.policies,
           "queue policy: fifo, easy, easy-sticky, unguarded, conservative or slurm; repeatable",
           "WORD");
  a.option("--gpus", o.gpus, "size of a plain pool of GPUs, without nodes");
  a.option("--nodes", o.nodes, "number of nodes, instead of --gpus");
  a.option("--gpus-per-node", o.gpus_per_node, "GPUs per node");
  a.option("--nodes-per-leaf", o.nodes_per_leaf, "nodes per leaf switch; 0: 32");
  a.option("--placement", o.placement, "placement on nodes: pack, spread or tree", "WORD");
  a.option("--from", o.from, "first job of the trace to replay, counted from 0");
  a.option("--take", o.take, "number of jobs to replay; 0: all");
  a.option("--mtbf", o.mtbf, "mean time between failures per node; default: no failures", "TIME");
  a.option("--repair", o.repair, "mean time to repair a node", "TIME");
  a.option("--checkpoint", o.checkpoint,
           "time between checkpoints of a job; default: a stopped job starts over", "TIME");
  a.option("--requeue", o.requeue, "delay before a job that lost its node may start again", "TIME");
  a.option("--pod-nodes", o.pod_nodes,
           "nodes of a trace of pods (openb); use with --policy best-fit or fgd", "FILE");
  a.option("--load", o.load, "pods: GPUs requested, divided by GPUs in the fleet");
  a.flag("--rewind", o.rewind,
         "calibrate on the first half of the trace, report the error on the second half, then "
         "compare the policies given by --policy");
  a.option("--more", o.more, "--rewind: also try with this many more GPUs or nodes");
  a.option("--why", o.why,
           "list the jobs that wait at this time, why they wait and what would start them", "TIME");
}

ExitCode run_replay(const ReplayArguments& o, const std::string& design, std::uint64_t seed,
                    Format format, Terminal& terminal) {
  const auto text = terminal.read_file(o.file);
  if (!text) return refuse(terminal, text.error());
  if (workload::looks_like_pods(*text)) return run_pods(o, *text, seed, format, terminal);
  auto stage = stage_of(o, *text, design, terminal);
  if (!stage) return refuse(terminal, stage.error());
  stage->options.seed = seed;
  if (o.rewind) {
    if (o.more < 0 || o.more > kReplayNodesMax) {
      return refuse(terminal, {replay_usage("--more is out of range", "0 to 200000")});
    }
    const auto result = rehearse::rewind(stage->trace.jobs, stage->pool, rewind_of(*stage, o.more));
    if (!result) return refuse(terminal, result.error());
    terminal.out << (format == Format::json
                         ? json_of(*result)
                         : report::folded(head_of(*stage, o.file) + text_of(*result),
                                          terminal.style.width));
    return ExitCode::good;
  }
  if (format == Format::text)
    terminal.out << report::folded(head_of(*stage, o.file), terminal.style.width);
  std::vector<Played> all;
  for (const cluster::BackfillVariant policy : stage->policies) {
    if (terminal.interrupted()) return ExitCode::interrupted;
    stage->options.queue.backfill = policy;
    all.push_back({policy, rehearse::replay_jobs(stage->trace.jobs, stage->pool, stage->options)});
    if (format == Format::text)
      terminal.out << report::folded(text_of(all.back(), *stage), terminal.style.width)
                   << std::flush;
  }
  if (format == Format::json) terminal.out << json_of(all, *stage, o.file);
  return ExitCode::good;
}

}  // namespace orrery::cli
