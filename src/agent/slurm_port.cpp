#include "agent/slurm_port.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/text.h"

namespace orrery {
namespace {

// Reasons are shown in tables; Slurm itself takes more.
constexpr std::size_t kReasonBytesMax = 200;

Seconds wall_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return seconds(std::chrono::duration<double>(since).count());
}

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

class SlurmClient {
 public:
  SlurmClient(SlurmAccess access, CommandRunner runner)
      : access_(std::move(access)), runner_(std::move(runner)) {}

  Result<std::string> call(std::vector<std::string> words) const {
    return call(std::move(words), access_.timeout);
  }

  Result<ClusterLook> look() const {
    // Jobs before nodes: a node that fails between the two is seen failed with its job still on it,
    // never a job gone from a node that looks well.
    const auto jobs = call({"squeue", "-h", "-a", "-t", "all", "-O", kJobFields});
    if (!jobs) return std::unexpected(jobs.error());
    const auto nodes = call({"sinfo", "-h", "-a", "-N", "-O", kNodeFields});
    if (!nodes) return std::unexpected(nodes.error());
    auto parsed_jobs = parse_jobs(*jobs);
    if (!parsed_jobs) return std::unexpected(parsed_jobs.error());
    auto parsed_nodes = parse_nodes(*nodes, access_.marks);
    if (!parsed_nodes) return std::unexpected(parsed_nodes.error());
    return ClusterLook{
        .now = wall_clock(), .jobs = std::move(*parsed_jobs), .nodes = std::move(*parsed_nodes)};
  }

  Result<void> act(const RecoveryAction& action) const {
    const bool names_fit =
        std::ranges::all_of(action.nodes, is_name) && (action.job.empty() || is_name(action.job));
    if (!names_fit) {
      return fail({.code = "slurm.name",
                   .what = "a name that Slurm cannot have given: " + action.job,
                   .why = {},
                   .fix = {}});
    }
    auto words = words_of(action);
    if (!words) return std::unexpected(words.error());
    const bool fences = action.kind == ActionKind::fence_node;
    const auto said = call(std::move(*words), fences ? access_.fence_timeout : access_.timeout);
    if (!said) return std::unexpected(said.error());
    return {};
  }

 private:
  Result<std::string> call(std::vector<std::string> words, Seconds timeout) const {
    Command command{.words = std::move(words), .timeout = timeout};
    command.environment = {{"TZ", "UTC"}, {"SLURM_TIME_FORMAT", "standard"}};
    if (!access_.conf.empty()) command.environment.emplace_back("SLURM_CONF", access_.conf);
    command.environment_without = {"SQUEUE_", "SINFO_", "SLURM_CLUSTERS=", "SLURM_BITSTR_LEN="};
    auto result = runner_(command);
    if (!result) return std::unexpected(result.error());
    if (!result->good()) return refused(command, *result);
    return std::move(result->out);
  }

  Result<std::vector<std::string>> words_of(const RecoveryAction& action) const {
    const std::string node = action.nodes.empty() ? "" : "NodeName=" + action.nodes.front();
    const std::string job = "JobId=" + action.job;
    const std::string reason = "Reason=" + plain_reason(action.why);
    switch (action.kind) {
      case ActionKind::drain_node:
        return std::vector<std::string>{"scontrol", "update", node, "State=DRAIN", reason};
      case ActionKind::down_node:
        return std::vector<std::string>{"scontrol", "update", node, "State=DOWN", reason};
      case ActionKind::resume_spare:
        return std::vector<std::string>{"scontrol", "update", node, "State=RESUME"};
      case ActionKind::fence_node:
        return std::vector<std::string>{access_.fence.value_or("false"), action.nodes.front()};
      case ActionKind::requeue_job:
        return std::vector<std::string>{"scontrol", "requeue", action.job};
      case ActionKind::exclude_nodes:
        return exclusion(action);
      case ActionKind::release_job:
        return std::vector<std::string>{"scontrol", "update", job, "StartTime=now"};
      case ActionKind::hold_job:
        return std::vector<std::string>{"scontrol", "hold", action.job};
      case ActionKind::alert:
        break;
    }
    return std::vector<std::string>{"true"};
  }

  // Added to what the job already avoids, which may be its owner's wish.
  Result<std::vector<std::string>> exclusion(const RecoveryAction& action) const {
    const auto before = call({"squeue", "-h", "-j", action.job, "-o", "%x"}, access_.timeout);
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

  SlurmAccess access_;
  CommandRunner runner_;
};

}  // namespace

RecoverPort slurm_port(const SlurmAccess& access, CommandRunner runner) {
  const SlurmClient client(access, std::move(runner));
  return {.look = [client] { return client.look(); },
          .act = [client](const RecoveryAction& action) { return client.act(action); },
          .now = wall_clock};
}

Result<SlurmHabits> slurm_habits(const SlurmAccess& access, CommandRunner runner) {
  const auto text = SlurmClient(access, std::move(runner)).call({"scontrol", "show", "config"});
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

}  // namespace orrery
