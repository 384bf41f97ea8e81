// `orrery agent rehearse`: runs the recovery agent on a simulated Slurm cluster whose nodes fail,
// so that a policy can be tried before it goes live.
#include <fmt/format.h>

#include <memory>

#include "app/cli/recover_policy.h"
#include "app/cli/verb.h"
#include "core/base/json_writer.h"
#include "core/base/units.h"
#include "study/rehearse/rehearsal.h"

namespace orrery::cli {
namespace {

// Limits beyond which a rehearsal takes minutes of real time and shows nothing new.
constexpr std::int64_t kNodesMax = 4096;
constexpr Seconds kLengthMax = days(1);

struct RehearseOptions {
  std::int64_t nodes = 64;
  std::int64_t spares = 0;
  std::int64_t jobs = 16;
  std::int64_t job_nodes = 2;
  std::int64_t faults = 10;
  std::string length = "1 h";
  std::string repair = "10 min";
  bool fence = false;
  std::uint64_t seed = 1;
  PolicyOptions policy;
  Format format = Format::text;
};

Result<rehearse::RehearsalOptions> rehearsal_of(const RehearseOptions& o) {
  Diagnostics faults;
  const auto length = parse_quantity<Seconds>(o.length);
  const auto repair = parse_quantity<Seconds>(o.repair);
  if (!length || *length < minutes(1) || *length > kLengthMax) {
    faults.push_back(agent_usage("not a length of time: " + o.length, "1 h; from 1 min to 1 d"));
  }
  if (!repair || *repair < seconds(1)) {
    faults.push_back(agent_usage("not a time: " + o.repair, "10 min; at least 1 s"));
  }
  const bool fits = o.nodes >= 1 && o.nodes <= kNodesMax && o.jobs >= 1 && o.job_nodes >= 1 &&
                    o.spares >= 0 && o.faults >= 0 && o.faults <= 10'000 && o.jobs <= o.nodes &&
                    o.job_nodes <= o.nodes && o.jobs * o.job_nodes + o.spares <= o.nodes;
  if (!fits) {
    faults.push_back(agent_usage("the jobs and the spares do not fit on the nodes",
                                 "--jobs x --job-nodes + --spares at most --nodes, at most 4096"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return rehearse::RehearsalOptions{.nodes = static_cast<int>(o.nodes),
                                    .spares = static_cast<int>(o.spares),
                                    .jobs = static_cast<int>(o.jobs),
                                    .job_nodes = static_cast<int>(o.job_nodes),
                                    .faults = static_cast<int>(o.faults),
                                    .length = *length,
                                    .repair = *repair,
                                    .has_fence = o.fence,
                                    .seed = o.seed};
}

// The real recovery agent, with its journal in memory, printed as a live run is.
class Rehearsed final : public rehearse::RehearsalDriver {
 public:
  Rehearsed(failure::RecoveryPort& port, const PolicyRead& read, Format format, Terminal& terminal)
      : agent_(port, keep_nothing, read.policy, {}),
        interval_(read.interval),
        format_(format),
        terminal_(terminal) {}

  std::optional<Seconds> tick() override {
    if (terminal_.interrupted()) return std::nullopt;
    const auto report = agent_.tick();
    if (!report) return max(interval_, seconds(1));
    if (format_ == Format::text) show(*report, Format::text, terminal_);
    return next_look(*report, interval_);
  }

  void on_fault(const rehearse::InjectedFault& fault) override {
    if (format_ != Format::text) return;
    terminal_.out << clock_text(fault.at) << "  * " << to_text(fault) << '\n';
  }

 private:
  static Result<void> keep_nothing(const std::vector<std::string>&) { return {}; }

  agent::RecoverAgent agent_;
  Seconds interval_;
  Format format_;
  Terminal& terminal_;
};

std::string text_of(const rehearse::RehearsalResult& r, const rehearse::RehearsalOptions& o) {
  std::string out = fmt::format("\n{} faults in {} on {} nodes (seed {}): ", r.faults.size(),
                                brief(o.length), o.nodes, o.seed);
  if (r.outages.empty()) {
    out += "no job lost its run\n";
  } else {
    out += fmt::format("{} runs lost, restarted after {} (median) to {} (worst); Slurm alone: {}\n",
                       r.outages.size(), brief(r.outages[r.outages.size() / 2]),
                       brief(r.outages.back()), brief(rehearse::SimulatedOptions{}.hold));
  }
  for (const std::string& job : r.waiting) out += "job " + job + " is not running at the end\n";
  for (const std::string& overlap : r.overlaps) out += "running twice at once: " + overlap + '\n';
  if (r.waiting.empty() && r.overlaps.empty()) {
    out += "all jobs are running at the end; none ran twice at once\n";
  }
  return out;
}

std::string json_of(const rehearse::RehearsalResult& r, const rehearse::RehearsalOptions& o) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("nodes", o.nodes).field("jobs", o.jobs);
  w.field("length_s", o.length.base()).field("seed", static_cast<std::int64_t>(o.seed));
  w.key("faults").begin_array();
  for (const rehearse::InjectedFault& f : r.faults) {
    w.begin_object().field("at_s", f.at.base()).field("what", to_text(f)).end_object();
  }
  w.end_array().key("outages_s").begin_array();
  for (const Seconds outage : r.outages) w.value(outage.base());
  w.end_array().key("jobs_waiting").begin_array();
  for (const std::string& job : r.waiting) w.value(job);
  w.end_array().key("overlaps").begin_array();
  for (const std::string& overlap : r.overlaps) w.value(overlap);
  w.end_array().end_object();
  return w.text() + '\n';
}

ExitCode run_rehearse(const RehearseOptions& o, Terminal& terminal) {
  auto read = policy_of(o.policy);
  const auto plan = rehearsal_of(o);
  Diagnostics faults;
  if (!read) faults = read.error();
  if (!plan) faults.insert(faults.end(), plan.error().begin(), plan.error().end());
  if (!faults.empty()) return refuse(terminal, faults);
  read->policy.fence = o.fence;
  rehearse::Rehearsal rehearsal(*plan);
  Rehearsed driver(rehearsal.port(), *read, o.format, terminal);
  const rehearse::RehearsalResult result = rehearsal.run(driver);
  if (!result.is_complete) return ExitCode::interrupted;
  terminal.out << (o.format == Format::json ? json_of(result, *plan) : text_of(result, *plan));
  const bool is_good = result.waiting.empty() && result.overlaps.empty();
  return is_good ? ExitCode::good : ExitCode::fails_rule;
}

void bind(RehearseOptions& o, Arguments& a) {
  a.option("--nodes", o.nodes, "nodes of the simulated cluster");
  a.option("--spares", o.spares, "nodes kept in reserve");
  a.option("--jobs", o.jobs, "jobs, which run without end");
  a.option("--job-nodes", o.job_nodes, "nodes per job");
  a.option("--faults", o.faults,
           "node faults: a node dies, flaps, is found unfit or stops answering");
  a.option("--for", o.length, "time to simulate", "TIME");
  a.option("--repair", o.repair, "time from a node's fault to its return", "TIME");
  a.flag("--fence", o.fence,
         "the agent can power nodes off, so nodes that stop answering are simulated too");
  bind_interval(o.policy, a);
  bind(o.policy, a);
  a.seed(o.seed);
  a.format(o.format);
}

}  // namespace

Verb rehearse_verb() {
  return {.name = "rehearse",
          .summary = "Try recovery on a simulated Slurm cluster whose nodes fail",
          .examples = {"orrery agent rehearse --nodes 64 --faults 10",
                       "orrery agent rehearse --nodes 256 --jobs 60 --job-nodes 4 --spares 8 "
                       "--fence --for 6h",
                       "orrery agent rehearse --out-max 0.02 --seed 7"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<RehearseOptions>();
            bind(*options, arguments);
            return [options](Terminal& terminal) { return run_rehearse(*options, terminal); };
          }};
}

}  // namespace orrery::cli
