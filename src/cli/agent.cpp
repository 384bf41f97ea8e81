// `orrery agent`: live drivers of policies. `recover` brings jobs back after a node fails.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>

#include "agent/journal.h"
#include "agent/journal_lines.h"
#include "agent/recover.h"
#include "agent/slurm_port.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/verb.h"

namespace orrery {

Verb stragglers_verb();

namespace {

using Clock = std::chrono::steady_clock;

// While a lost job waits for its moment, looks come this often at least: the moment is short.
constexpr Seconds kBusyInterval = milliseconds(200);
constexpr Seconds kShortestInterval = milliseconds(50);
// Beyond this the journal is cut to what is remembered.
constexpr std::size_t kJournalBytesMax = std::size_t{16} << 20;

struct RecoverOptions {
  std::string conf;
  std::string journal;
  std::string interval = "500 ms";
  std::string silence = "10 s";
  std::optional<std::string> fence;
  std::string spare = "spare";
  std::string broken = "fatal:";
  double out_share_max = RecoveryPolicy{}.out_share_max;
  std::optional<double> avoid_share_max;
  std::int64_t crash_loop = RecoveryPolicy{}.crash_loop;
  std::int64_t losses_max = RecoveryPolicy{}.losses_max;
  bool once = false;
  bool dry_run = false;
  Format format = Format::text;
};

struct RecoverSetup {
  SlurmAccess access;
  RecoveryPolicy policy;
  Seconds interval;
};

Diagnostic usage(std::string what, std::string fix) {
  return {.code = "agent.usage", .what = std::move(what), .why = {}, .fix = std::move(fix)};
}

Result<RecoverSetup> setup_of(const RecoverOptions& o) {
  Diagnostics faults;
  const auto interval = parse_quantity<Seconds>(o.interval);
  const auto silence = parse_quantity<Seconds>(o.silence);
  if (!interval || *interval < kShortestInterval) {
    faults.push_back(usage("not an interval: " + o.interval, "500 ms; at least 50 ms"));
  }
  if (!silence || *silence < Seconds()) {
    faults.push_back(usage("not a time: " + o.silence, "10 s"));
  }
  const auto is_share = [](double x) { return x >= 0 && x <= 1; };
  if (!is_share(o.out_share_max) || !is_share(o.avoid_share_max.value_or(0))) {
    faults.push_back(usage("a share is not between 0 and 1", "0.1 is a tenth of the fleet"));
  }
  if (o.crash_loop < 0 || o.crash_loop > static_cast<std::int64_t>(kLossesKept) ||
      o.losses_max < 1 || o.losses_max > 1'000'000) {
    faults.push_back(
        usage("a count is out of range", "--crash-loop 0 (off) to 8, --losses-max from 1"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  RecoverSetup setup{.interval = *interval};
  setup.access.conf = o.conf;
  setup.access.fence = o.fence;
  setup.access.marks = {.spare = o.spare, .broken = o.broken};
  setup.policy.fence = o.fence.has_value();
  setup.policy.silence = *silence;
  setup.policy.out_share_max = o.out_share_max;
  setup.policy.crash_loop = static_cast<int>(o.crash_loop);
  setup.policy.losses_max = static_cast<int>(o.losses_max);
  if (o.avoid_share_max) setup.policy.avoid_share_max = *o.avoid_share_max;
  return setup;
}

std::string clock_text(Seconds at) {
  const auto whole = static_cast<std::int64_t>(at.base());
  const std::int64_t minute_start = whole - whole % 60;
  return fmt::format("{:02}:{:02}:{:06.3f}", whole / 3600 % 24, whole / 60 % 60,
                     at.base() - static_cast<double>(minute_start));
}

std::string sentence(const RecoveryEvent& e) {
  using Kind = RecoveryEventKind;
  const std::string nodes = fmt::format("{}", fmt::join(e.nodes, " "));
  switch (e.kind) {
    case Kind::node_failed:
      return e.weight > 0 ? "node " + e.node + " failed" : "node " + e.node + " is out already";
    case Kind::node_silent:
      return "node " + e.node + " does not answer";
    case Kind::node_back:
      return "node " + e.node + " is back";
    case Kind::lemon_found:
      return fmt::format("node {} is a lemon, odds {} to 1", e.node, significant(e.weight, 2));
    case Kind::job_lost:
      return fmt::format("job {} lost its run on {}", e.job,
                         nodes.empty() ? "unseen cause" : nodes);
    case Kind::job_back:
      return fmt::format("job {} runs again, {} after it was seen lost", e.job, brief(e.lasted));
    default:
      return {};  // bookkeeping
  }
}

std::string sentence(const ActionOutcome& o) {
  std::string text = o.action.kind == ActionKind::alert ? "ALERT" : to_text(o.action.kind);
  if (!o.action.job.empty() && o.action.kind != ActionKind::alert) text += " " + o.action.job;
  for (const std::string& node : o.action.nodes) text += " " + node;
  text += ": " + o.action.why;
  return o.good ? text : text + " -- refused: " + o.said;
}

void show(const TickReport& report, Format format, Terminal& terminal) {
  for (const RecoveryEvent& event : report.events) {
    if (format == Format::json) {
      terminal.out << line_of(event) << '\n';
    } else if (const std::string text = sentence(event); !text.empty()) {
      terminal.out << clock_text(report.at) << "  " << text << '\n';
    }
  }
  for (const ActionOutcome& outcome : report.outcomes) {
    if (format == Format::json) {
      terminal.out << line_of(outcome.action) << '\n';
    } else {
      terminal.out << clock_text(report.at) << "  " << sentence(outcome) << '\n';
    }
  }
  terminal.out.flush();
}

// In small pieces, so that Ctrl-C is heard at once.
void pause(Seconds length, const Terminal& terminal) {
  const auto end = Clock::now() + std::chrono::duration<double>(length.base());
  while (Clock::now() < end && !terminal.interrupted()) {
    const std::chrono::duration<double> left = end - Clock::now();
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(0.02)));
  }
}

// A configuration that makes recovery slower or blames the wrong nodes is said at the start.
void fit_habits(const SlurmHabits& habits, const RecoverOptions& o, RecoveryPolicy& policy,
                Terminal& terminal) {
  if (habits.preempts && !o.avoid_share_max) {
    policy.avoid_share_max = 0;
    terminal.err << "note: this Slurm preempts, so a job requeued without a node seen down avoids "
                    "no nodes (--avoid-share)\n";
  }
  if (!habits.requeues) {
    terminal.err << "note: JobRequeue=0: only jobs submitted with --requeue come back\n";
  }
  if (!policy.fence && habits.returns_service != 0) {
    terminal.err << "note: without --fence a silent node is left to SlurmdTimeout\n";
  }
}

ExitCode drive(RecoverAgent& agent, Journal* journal, const RecoverSetup& setup,
               const RecoverOptions& o, Terminal& terminal) {
  std::string trouble;
  while (!terminal.interrupted()) {
    const auto report = agent.tick();
    Seconds wait = setup.interval;
    if (report) {
      trouble.clear();
      show(*report, o.format, terminal);
      if (report->jobs_waiting > 0) wait = min(wait, kBusyInterval);
    } else {
      const bool journal_failed = report.error().front().code.starts_with("journal.");
      if (o.once || journal_failed) return refuse(terminal, report.error());
      const std::string text = to_text(report.error());
      if (text != trouble) terminal.err << text << "    the agent goes on trying\n" << std::flush;
      trouble = text;
      wait = max(wait, seconds(1));
    }
    if (journal && journal->size() > kJournalBytesMax) {
      const auto cut = journal->rewrite({line_of(agent.memory())});
      if (!cut) return refuse(terminal, cut.error());
      agent.journal_was_cut();
    }
    if (o.once) return ExitCode::good;
    pause(wait, terminal);
  }
  terminal.err << "stopped; start it again with the same journal to go on\n";
  return ExitCode::interrupted;
}

// Looks, and does nothing.
class DryPort final : public RecoveryPort {
 public:
  explicit DryPort(const SlurmAccess& access) : slurm_(access) {}
  Result<ClusterLook> look() override { return slurm_.look(); }
  Result<void> act(const RecoveryAction&) override { return {}; }
  Seconds now() const override { return slurm_.now(); }

 private:
  SlurmPort slurm_;
};

ExitCode run_dry(const RecoverSetup& setup, const RecoverOptions& o, Terminal& terminal) {
  DryPort port(setup.access);
  RecoveryMemory memory;
  if (const auto text = terminal.read_file(o.journal)) {
    const auto recalled = recall(*text, o.journal, setup.policy);
    if (!recalled) return refuse(terminal, recalled.error());
    memory = *recalled;
  }
  const auto keep_nothing = [](const std::vector<std::string>&) -> Result<void> { return {}; };
  RecoverAgent agent(port, keep_nothing, setup.policy, std::move(memory));
  terminal.err << "dry run: nothing is done and nothing is journalled\n";
  return drive(agent, nullptr, setup, o, terminal);
}

ExitCode run_recover(const RecoverOptions& o, Terminal& terminal) {
  auto setup = setup_of(o);
  if (!setup) return refuse(terminal, setup.error());
  if (const auto habits = slurm_habits(setup->access)) {
    fit_habits(*habits, o, setup->policy, terminal);
  } else if (o.once) {
    return refuse(terminal, habits.error());
  }
  if (o.dry_run) return run_dry(*setup, o, terminal);
  auto journal = Journal::open(o.journal);
  if (!journal) return refuse(terminal, journal.error());
  if (journal->torn_bytes() > 0) terminal.err << "note: the journal's torn last line was cut\n";
  const auto memory = recall(journal->text(), o.journal, setup->policy);
  if (!memory) return refuse(terminal, memory.error());
  SlurmPort port(setup->access);
  RecoverAgent agent(
      port, [&journal](const std::vector<std::string>& lines) { return journal->append(lines); },
      setup->policy, *memory);
  return drive(agent, &*journal, *setup, o, terminal);
}

void bind(RecoverOptions& o, Arguments& a) {
  a.option("--conf", o.conf, "slurm.conf; without it the programs look themselves", "FILE");
  a.option("--journal", o.journal, "what was found and done; kept between runs", "FILE");
  a.required();
  a.option("--interval", o.interval, "between two looks", "TIME");
  a.flag("--once", o.once, "one look, its actions, and out");
  a.flag("--dry-run", o.dry_run, "say what would be done, do nothing");
  a.option("--fence", o.fence, "program that is given a node and powers it off", "PROGRAM");
  a.option("--silence", o.silence, "before a node that does not answer is fenced", "TIME");
  a.option("--out-max", o.out_share_max, "share of the fleet beyond which no node is drained");
  a.option("--avoid-share", o.avoid_share_max,
           "a job lost without a node seen down avoids its nodes, up to this share of the fleet");
  a.option("--crash-loop", o.crash_loop,
           "so many quick losses on different nodes are the job's doing; 0: never");
  a.option("--losses-max", o.losses_max, "losses after which a job is held");
  a.option("--spare-reason", o.spare, "nodes drained with a reason that begins so are spares");
  a.option("--broken-reason", o.broken, "and with this one unfit: their jobs are moved");
  a.format(o.format);
}

Verb recover_verb() {
  return {.name = "recover",
          .summary = "Bring Slurm jobs back in seconds after a node fails",
          .examples = {"orrery agent recover --journal recover.jsonl --dry-run",
                       "orrery agent recover --conf slurm.conf --journal recover.jsonl",
                       "orrery agent recover --journal recover.jsonl --fence ./power-off"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<RecoverOptions>();
            bind(*options, arguments);
            return [options](Terminal& terminal) { return run_recover(*options, terminal); };
          }};
}

}  // namespace

Verb agent_verb() {
  return {.name = "agent",
          .summary = "Run a policy on a live system",
          .examples = {"orrery agent recover --journal recover.jsonl",
                       "orrery agent stragglers steps.csv"},
          .prepare = {},
          .verbs = {recover_verb(), stragglers_verb()}};
}

}  // namespace orrery
