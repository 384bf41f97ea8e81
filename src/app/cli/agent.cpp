// `orrery agent`: policies that act on live systems. `recover` restarts jobs after a node fails.
#include <memory>

#include "app/cli/recover_policy.h"
#include "app/cli/verb.h"
#include "live/agent/journal.h"
#include "live/agent/journal_lines.h"
#include "live/agent/recover.h"
#include "live/agent/slurm_port.h"

namespace orrery::cli {

Verb lifecycle_verb();
Verb rehearse_verb();
Verb stragglers_verb();

namespace {

struct RecoverOptions {
  std::string conf;
  std::string journal;
  std::optional<std::string> fence;
  std::string spare = "spare";
  std::string broken = "fatal:";
  PolicyOptions policy;
  bool once = false;
  bool dry_run = false;
  Format format = Format::text;
};

struct RecoverSetup {
  agent::SlurmAccess access;
  failure::RecoveryPolicy policy;
  Seconds interval;
};

Result<RecoverSetup> setup_of(const RecoverOptions& o) {
  const auto read = policy_of(o.policy);
  if (!read) return std::unexpected(read.error());
  RecoverSetup setup{.policy = read->policy, .interval = read->interval};
  setup.access.conf = o.conf;
  setup.access.fence = o.fence;
  setup.access.marks = {.spare = o.spare, .broken = o.broken};
  setup.policy.fence = o.fence.has_value();
  return setup;
}

// Adapts the policy to Slurm's configuration. Warns at the start if that configuration makes
// recovery slower or hides which node failed.
void fit_habits(const agent::SlurmHabits& habits, const RecoverOptions& o,
                failure::RecoveryPolicy& policy, Terminal& terminal) {
  if (habits.preempts && !o.policy.avoid_share_max) {
    policy.avoid_share_max = 0;
    terminal.err << "note: this Slurm preempts jobs, so a job requeued without a node seen down "
                    "avoids no nodes (--avoid-share)\n";
  }
  if (!habits.requeues) {
    terminal.err << "note: JobRequeue=0: only jobs submitted with --requeue are restarted\n";
  }
  if (!policy.fence && habits.returns_service != 0) {
    terminal.err << "note: without --fence, silent nodes are left to SlurmdTimeout\n";
  }
}

ExitCode drive(agent::RecoverAgent& agent, agent::Journal* journal, const RecoverSetup& setup,
               const RecoverOptions& o, Terminal& terminal) {
  const auto round = [&]() -> Result<agent::RoundOutcome> {
    const auto report = agent.tick();
    if (!report) return std::unexpected(report.error());
    show(*report, o.format, terminal);
    agent::RoundOutcome outcome{.end = {}, .wait = next_look(*report, setup.interval)};
    if (o.once) outcome.end = agent::AgentEnd::good;
    return outcome;
  };
  return drive_agent(
      {.round = round,
       .interval = setup.interval,
       .ends_on_fault = o.once,
       .journal = journal,
       .memory_lines = [&] { return std::vector<std::string>{agent::line_of(agent.memory())}; },
       .journal_was_cut = [&] { agent.journal_was_cut(); }},
      terminal);
}

ExitCode run_dry(const RecoverSetup& setup, const RecoverOptions& o, Terminal& terminal) {
  const auto text =
      agent::Journal::read(o.journal, agent::recovery_journal(o.journal, setup.policy));
  if (!text) return refuse(terminal, text.error());
  auto memory = agent::recall(*text, o.journal, setup.policy);
  if (!memory) return refuse(terminal, memory.error());
  agent::SlurmPort slurm(setup.access);
  agent::DryPort port(slurm);
  // A dry run changes nothing, so a long settling time keeps each action from being printed again.
  failure::RecoveryPolicy policy = setup.policy;
  policy.settle = days(365);
  const auto keep_nothing = [](const std::vector<std::string>&) -> Result<void> { return {}; };
  agent::RecoverAgent agent(port, keep_nothing, policy, std::move(*memory));
  terminal.err << "dry run: nothing is done and nothing is written to the journal\n";
  return drive(agent, nullptr, setup, o, terminal);
}

ExitCode run_recover(const RecoverOptions& o, Terminal& terminal) {
  auto setup = setup_of(o);
  if (!setup) return refuse(terminal, setup.error());
  // Checks that the journal is one before any Slurm program runs, because those may hang.
  const auto own =
      agent::Journal::read(o.journal, agent::recovery_journal(o.journal, setup->policy));
  if (!own) return refuse(terminal, own.error());
  if (const auto habits = slurm_habits(setup->access)) {
    fit_habits(*habits, o, setup->policy, terminal);
  } else if (o.once) {
    return refuse(terminal, habits.error());
  }
  if (o.dry_run) return run_dry(*setup, o, terminal);
  auto journal = agent::Journal::open(o.journal, agent::recovery_journal(o.journal, setup->policy));
  if (!journal) return refuse(terminal, journal.error());
  if (journal->torn_bytes() > 0)
    terminal.err << "note: the incomplete last line of the journal was removed\n";
  const auto memory = agent::recall(journal->text(), o.journal, setup->policy);
  if (!memory) return refuse(terminal, memory.error());
  // Lets Ctrl-C interrupt a Slurm program that hangs.
  agent::SlurmPort port(setup->access, agent::run_until(terminal.interrupted));
  agent::RecoverAgent agent(
      port, [&journal](const std::vector<std::string>& lines) { return journal->append(lines); },
      setup->policy, *memory);
  return drive(agent, &*journal, *setup, o, terminal);
}

void bind(RecoverOptions& o, Arguments& a) {
  a.option("--conf", o.conf, "slurm.conf; without it, Slurm's programs find it themselves", "FILE");
  a.option("--journal", o.journal, "journal of what was found and done; kept between runs", "FILE");
  a.required();
  bind_interval(o.policy, a);
  a.flag("--once", o.once, "check once, act, and exit");
  a.flag("--dry-run", o.dry_run, "print what would be done, and do nothing");
  a.option("--fence", o.fence, "program that powers off the node given as its argument", "PROGRAM");
  bind(o.policy, a);
  a.option("--spare-reason", o.spare,
           "nodes drained with a reason that begins with this are spares");
  a.option("--broken-reason", o.broken,
           "nodes with a reason that begins with this are unfit, and their jobs are moved");
  a.format(o.format);
}

Verb recover_verb() {
  return {.name = "recover",
          .summary = "Restart Slurm jobs within seconds after a node fails",
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
                       "orrery agent rehearse --nodes 64 --faults 10",
                       "orrery agent stragglers steps.csv",
                       "orrery agent lifecycle --place hot=/ckpt,written,newest=3 "
                       "--place cold=s3://bucket/run,milestones --journal life.jsonl"},
          .prepare = {},
          .verbs = {recover_verb(), rehearse_verb(), stragglers_verb(), lifecycle_verb()}};
}

}  // namespace orrery::cli
