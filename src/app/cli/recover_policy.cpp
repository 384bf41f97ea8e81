#include "app/cli/recover_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "live/agent/journal_lines.h"

namespace orrery::cli {
namespace {

constexpr Seconds kShortestInterval = milliseconds(50);

}  // namespace

void rest(Seconds length, const Terminal& terminal) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(length.base());
  while (Clock::now() < end && !terminal.interrupted()) {
    const std::chrono::duration<double> left = end - Clock::now();
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(0.02)));
  }
}

Diagnostic agent_usage(std::string what, std::string fix) {
  return {.code = "agent.usage", .what = std::move(what), .why = {}, .fix = std::move(fix)};
}

void bind_interval(PolicyOptions& o, Arguments& a) {
  a.option("--interval", o.interval, "time between two checks", "TIME");
}

void bind(PolicyOptions& o, Arguments& a) {
  a.option("--silence", o.silence, "how long a node may be silent before it is fenced", "TIME");
  a.option("--out-max", o.out_share_max, "largest share of the fleet that may be drained");
  a.option("--avoid-share", o.avoid_share_max,
           "after a job is lost without a node seen down, its next run avoids its old nodes, up to "
           "this share of the fleet");
  a.option("--crash-loop", o.crash_loop,
           "this many quick losses on different nodes are taken as the job's own fault; 0: never");
  a.option("--losses-max", o.losses_max, "losses after which a job is held");
}

Result<PolicyRead> policy_of(const PolicyOptions& o) {
  Diagnostics faults;
  const auto interval = parse_quantity<Seconds>(o.interval);
  const auto silence = parse_quantity<Seconds>(o.silence);
  if (!interval || *interval < kShortestInterval) {
    faults.push_back(agent_usage("not an interval: " + o.interval, "500 ms; at least 50 ms"));
  }
  if (!silence || *silence < Seconds()) {
    faults.push_back(agent_usage("not a time: " + o.silence, "10 s"));
  }
  const auto is_share = [](double x) { return x >= 0 && x <= 1; };
  if (!is_share(o.out_share_max) || !is_share(o.avoid_share_max.value_or(0))) {
    faults.push_back(agent_usage("a share must be between 0 and 1", "0.1 is a tenth of the fleet"));
  }
  if (o.crash_loop < 0 || o.crash_loop > static_cast<std::int64_t>(failure::kLossesKept) ||
      o.losses_max < 1 || o.losses_max > 1'000'000) {
    faults.push_back(
        agent_usage("a count is out of range", "--crash-loop 0 (off) to 8, --losses-max from 1"));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  PolicyRead read{.interval = *interval};
  read.policy.silence = *silence;
  read.policy.out_share_max = o.out_share_max;
  read.policy.crash_loop = static_cast<int>(o.crash_loop);
  read.policy.losses_max = static_cast<int>(o.losses_max);
  if (o.avoid_share_max) read.policy.avoid_share_max = *o.avoid_share_max;
  return read;
}

ExitCode drive_agent(agent::AgentDrive drive, Terminal& terminal) {
  drive.tell = [&terminal](const std::string& text) {
    terminal.err << text << "    the agent keeps trying\n" << std::flush;
  };
  drive.stopped = terminal.interrupted;
  drive.rest = [&terminal](Seconds wait) { rest(wait, terminal); };
  const auto end = agent::drive(drive);
  if (!end) return refuse(terminal, end.error());
  if (*end == agent::AgentEnd::good) return ExitCode::good;
  if (*end == agent::AgentEnd::needs_a_person) return ExitCode::fails_rule;
  terminal.err << "stopped; start it again with the same journal to continue\n";
  return ExitCode::interrupted;
}

std::string clock_text(Seconds at) {
  const auto whole = static_cast<std::int64_t>(at.base());
  const std::int64_t minute_start = whole - whole % 60;
  return fmt::format("{:02}:{:02}:{:06.3f}", whole / 3600 % 24, whole / 60 % 60,
                     at.base() - static_cast<double>(minute_start));
}

namespace {

std::string sentence(const failure::RecoveryEvent& e) {
  using Kind = failure::RecoveryEventKind;
  const std::string nodes = fmt::format("{}", fmt::join(e.nodes, " "));
  switch (e.kind) {
    case Kind::node_failed:
      return e.weight > 0 ? "node " + e.node + " failed"
                          : "node " + e.node + " is already out of service";
    case Kind::node_silent:
      return "node " + e.node + " does not answer";
    case Kind::node_back:
      return "node " + e.node + " is back";
    case Kind::lemon_found:
      return fmt::format("node {} fails too often (a lemon), odds {} to 1", e.node,
                         significant(e.weight, 2));
    case Kind::node_fenced:
      return "node " + e.node + " is confirmed off";
    case Kind::fence_failed:
      return "fencing of node " + e.node + " failed";
    case Kind::node_forgotten:
      return "the controller was restarted and forgot that node " + e.node +
             " was taken out of service";
    case Kind::job_undone:
      return "the controller was restarted and forgot the new run of job " + e.job;
    case Kind::job_lost:
      return fmt::format("job {} lost its run on {}", e.job,
                         nodes.empty() ? "an unknown node" : nodes);
    case Kind::job_back:
      return fmt::format("job {} runs again, {} after its loss was seen", e.job, brief(e.lasted));
    default:
      return {};  // an internal event, not printed
  }
}

std::string sentence(const agent::ActionOutcome& o) {
  std::string text = o.action.kind == failure::ActionKind::alert ? "ALERT" : to_text(o.action.kind);
  if (!o.action.job.empty() && o.action.kind != failure::ActionKind::alert)
    text += " " + o.action.job;
  for (const std::string& node : o.action.nodes) text += " " + node;
  text += ": " + o.action.why;
  return o.good ? text : text + " -- refused: " + printable(o.said);
}

}  // namespace

void show(const agent::TickReport& report, Format format, Terminal& terminal) {
  for (const failure::RecoveryEvent& event : report.events) {
    if (format == Format::json) {
      terminal.out << agent::line_of(event) << '\n';
    } else if (const std::string text = sentence(event); !text.empty()) {
      terminal.out << clock_text(report.at) << "  " << text << '\n';
    }
  }
  for (const agent::ActionOutcome& outcome : report.outcomes) {
    if (format == Format::json) {
      terminal.out << agent::line_of(outcome.action) << '\n';
    } else {
      terminal.out << clock_text(report.at) << "  " << sentence(outcome) << '\n';
    }
  }
  terminal.out.flush();
}

}  // namespace orrery::cli
