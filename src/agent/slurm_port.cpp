#include "agent/slurm_port.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/text.h"

namespace orrery::agent {
namespace {

// Reasons are shown in tables; Slurm itself takes more.
constexpr std::size_t kReasonBytesMax = 200;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() < 256 &&
         std::ranges::all_of(
             text,
             [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
             }) &&
         text.front() != '-';
}

std::string plain_reason(const std::string& why) {
  std::string out = why.substr(0, kReasonBytesMax);
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~' || c == '"'; }, ' ');
  return out;
}

std::unexpected<Diagnostics> refused(const Command& command, const CommandResult& result) {
  std::string said(trimmed(result.err.empty() ? result.out : result.err));
  std::ranges::replace(said, '\n', ' ');
  if (result.timed_out) said = "no answer in time";
  if (result.output_cut) said = "more output than can be held";
  return fail({.code = "slurm.refused",
               .place = {.file = command.words.front()},
               .what = to_text(command) + ": " + said.substr(0, 500),
               .why = {},
               .fix = "check that slurmctld runs and that this user may operate it"});
}

Result<std::string> call(const SlurmAccess& access, const CommandRunner& runner,
                         std::vector<std::string> words, Seconds timeout) {
  Command command{.words = std::move(words), .timeout = timeout};
  command.environment = {{"TZ", "UTC"}, {"SLURM_TIME_FORMAT", "standard"}};
  if (!access.conf.empty()) command.environment.emplace_back("SLURM_CONF", access.conf);
  command.environment_without = {"SQUEUE_", "SINFO_", "SLURM_CLUSTERS=", "SLURM_BITSTR_LEN="};
  auto result = runner(command);
  if (!result) return std::unexpected(result.error());
  if (!result->good()) return refused(command, *result);
  return std::move(result->out);
}

Result<std::string> call(const SlurmAccess& access, const CommandRunner& runner,
                         std::vector<std::string> words) {
  return call(access, runner, std::move(words), access.timeout);
}

// Added to what the job already avoids, which may be its owner's wish.
Result<std::vector<std::string>> exclusion(const SlurmAccess& access, const CommandRunner& runner,
                                           const failure::RecoveryAction& action) {
  const auto before = call(access, runner, {"squeue", "-h", "-j", action.job, "-o", "%x"});
  if (!before) return std::unexpected(before.error());
  const auto named = expand_hosts(*before);
  if (!named) return std::unexpected(named.error());
  std::set<std::string> all(named->begin(), named->end());
  all.insert(action.nodes.begin(), action.nodes.end());
  std::string list;
  for (const std::string& node : all) list += (list.empty() ? "" : ",") + node;
  return std::vector<std::string>{"scontrol", "update", "JobId=" + action.job,
                                  "ExcNodeList=" + list};
}

Result<std::vector<std::string>> words_of(const SlurmAccess& access, const CommandRunner& runner,
                                          const failure::RecoveryAction& action) {
  const std::string node = action.nodes.empty() ? "" : "NodeName=" + action.nodes.front();
  const std::string job = "JobId=" + action.job;
  const std::string reason = "Reason=" + plain_reason(action.why);
  switch (action.kind) {
    case failure::ActionKind::drain_node:
      return std::vector<std::string>{"scontrol", "update", node, "State=DRAIN", reason};
    case failure::ActionKind::down_node:
      return std::vector<std::string>{"scontrol", "update", node, "State=DOWN", reason};
    case failure::ActionKind::resume_spare:
      return std::vector<std::string>{"scontrol", "update", node, "State=RESUME"};
    case failure::ActionKind::fence_node:
      return std::vector<std::string>{access.fence.value_or("false"), action.nodes.front()};
    case failure::ActionKind::requeue_job:
      return std::vector<std::string>{"scontrol", "requeue", action.job};
    case failure::ActionKind::exclude_nodes:
      return exclusion(access, runner, action);
    case failure::ActionKind::release_job:
      return std::vector<std::string>{"scontrol", "update", job, "StartTime=now"};
    case failure::ActionKind::hold_job:
      return std::vector<std::string>{"scontrol", "hold", action.job};
    case failure::ActionKind::alert:
      break;
  }
  return std::vector<std::string>{"true"};
}

}  // namespace

Seconds SlurmPort::now() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return seconds(std::chrono::duration<double>(since).count());
}

// Jobs before nodes, as the port promises.
Result<failure::ClusterLook> SlurmPort::look() {
  const auto jobs = call(access_, runner_, {"squeue", "-h", "-a", "-t", "all", "-O", kJobFields});
  if (!jobs) return std::unexpected(jobs.error());
  const auto nodes = call(access_, runner_, {"sinfo", "-h", "-a", "-N", "-O", kNodeFields});
  if (!nodes) return std::unexpected(nodes.error());
  auto parsed_jobs = parse_jobs(*jobs);
  if (!parsed_jobs) return std::unexpected(parsed_jobs.error());
  auto parsed_nodes = parse_nodes(*nodes, access_.marks);
  if (!parsed_nodes) return std::unexpected(parsed_nodes.error());
  return failure::ClusterLook{
      .now = now(), .jobs = std::move(*parsed_jobs), .nodes = std::move(*parsed_nodes)};
}

Result<void> SlurmPort::act(const failure::RecoveryAction& action) {
  const bool names_fit =
      std::ranges::all_of(action.nodes, is_name) && (action.job.empty() || is_name(action.job));
  if (!names_fit) {
    return fail({.code = "slurm.name",
                 .what = "a name that Slurm cannot have given: " + action.job,
                 .why = {},
                 .fix = {}});
  }
  auto words = words_of(access_, runner_, action);
  if (!words) return std::unexpected(words.error());
  const bool fences = action.kind == failure::ActionKind::fence_node;
  const auto said =
      call(access_, runner_, std::move(*words), fences ? access_.fence_timeout : access_.timeout);
  if (!said) return std::unexpected(said.error());
  return {};
}

Result<SlurmHabits> slurm_habits(const SlurmAccess& access, CommandRunner runner) {
  const auto text = call(access, runner, {"scontrol", "show", "config"});
  if (!text) return std::unexpected(text.error());
  SlurmHabits habits;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, equals));
    const std::string_view value = trimmed(line.substr(equals + 1));
    if (name == "PreemptType") habits.preempts = value != "preempt/none" && value != "(null)";
    if (name == "JobRequeue") habits.requeues = value != "0";
    if (name == "ReturnToService") {
      habits.returns_service = static_cast<int>(parse_integer(value).value_or(0));
    }
  }
  return habits;
}

}  // namespace orrery::agent
