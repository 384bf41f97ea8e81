#include "live/agent/slurm_port.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "core/base/text.h"

namespace orrery::agent {
namespace {

// Reasons are shown in tables; Slurm itself accepts longer ones.
constexpr std::size_t kReasonBytesMax = 200;
// Repeats of a look while the controller keeps restarting.
constexpr int kLooksMost = 3;
// Concurrent fences: each is a process, and a power failure may need one per node.
constexpr std::size_t kFencesMax = 256;

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
  if (result.timed_out) said = "there was no answer in time";
  if (result.output_cut) said = "the output is larger than the agent accepts";
  return fail({.code = "slurm.refused",
               .place = {.file = command.words.front()},
               .what = to_text(command) + ": " + said.substr(0, 500),
               .why = {},
               .fix = "check that slurmctld runs and that this user is a Slurm operator"});
}

Result<std::string> call(const SlurmAccess& access, const CommandRunner& runner,
                         std::vector<std::string> words) {
  Command command{.words = std::move(words), .timeout = access.timeout};
  command.environment = {{"TZ", "UTC"}, {"SLURM_TIME_FORMAT", "standard"}};
  if (!access.conf.empty()) command.environment.emplace_back("SLURM_CONF", access.conf);
  command.environment_without = {"SQUEUE_", "SINFO_", "SLURM_CLUSTERS=", "SLURM_BITSTR_LEN="};
  auto result = runner(command);
  if (!result) return std::unexpected(result.error());
  if (!result->good()) return refused(command, *result);
  return std::move(result->out);
}

// Added to the nodes that the job already excludes, which its owner may have chosen.
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
    case failure::ActionKind::requeue_job:
      return std::vector<std::string>{"scontrol", "requeue", action.job};
    case failure::ActionKind::exclude_nodes:
      return exclusion(access, runner, action);
    case failure::ActionKind::release_job:
      return std::vector<std::string>{"scontrol", "update", job, "StartTime=now"};
    case failure::ActionKind::hold_job:
      return std::vector<std::string>{"scontrol", "hold", action.job};
    case failure::ActionKind::unhold_job:
      return std::vector<std::string>{"scontrol", "release", action.job};
    case failure::ActionKind::fence_node:  // not an action of Slurm
    case failure::ActionKind::alert:
      break;
  }
  return std::vector<std::string>{"true"};
}

// Adds the nodes that jobs waiting for a restart exclude. No other query returns them.
Result<void> add_avoided(const SlurmAccess& access, const CommandRunner& runner,
                         std::vector<failure::JobView>& jobs) {
  const auto waits = [](const failure::JobView& job) {
    return job.phase == failure::JobPhase::pending && job.restarts > 0;
  };
  if (std::ranges::none_of(jobs, waits)) return {};
  const auto text = call(access, runner, {"squeue", "-h", "-a", "-t", "PD", "-o", "%A;%x"});
  if (!text) return std::unexpected(text.error());
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t end = line.find(';');
    if (end == std::string_view::npos) continue;
    const auto job = std::ranges::lower_bound(jobs, line.substr(0, end), {}, &failure::JobView::id);
    if (job == jobs.end() || job->id != line.substr(0, end) || !waits(*job)) continue;
    auto hosts = expand_hosts(line.substr(end + 1));
    if (!hosts) return std::unexpected(hosts.error());
    job->avoids = std::move(*hosts);
  }
  return {};
}

}  // namespace

Seconds SlurmPort::now() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return seconds(std::chrono::duration<double>(since).count());
}

Result<failure::ClusterLook> SlurmPort::look() {
  auto seen = look_once();
  for (int again = 0; again < kLooksMost && seen; ++again) {
    const bool is_same = controller_since_ == Seconds() || seen->controller_since == Seconds() ||
                         seen->controller_since == controller_since_;
    controller_since_ = seen->controller_since;
    if (is_same) break;
    seen = look_once();
  }
  return seen;
}

// Jobs are read before nodes, as the port promises. The controller's start time is read last, so a
// restart in between shows as a new start time with older data, never the other way round.
Result<failure::ClusterLook> SlurmPort::look_once() {
  const auto jobs = call(access_, runner_, {"squeue", "-h", "-a", "-t", "all", "-O", kJobFields});
  if (!jobs) return std::unexpected(jobs.error());
  const auto nodes = call(access_, runner_, {"sinfo", "-h", "-a", "-N", "-O", kNodeFields});
  if (!nodes) return std::unexpected(nodes.error());
  auto parsed_jobs = parse_jobs(*jobs);
  if (!parsed_jobs) return std::unexpected(parsed_jobs.error());
  auto parsed_nodes = parse_nodes(*nodes, access_.marks);
  if (!parsed_nodes) return std::unexpected(parsed_nodes.error());
  if (auto added = add_avoided(access_, runner_, *parsed_jobs); !added) {
    return std::unexpected(added.error());
  }
  show_fences(*parsed_nodes);
  const auto habits = slurm_habits(access_, runner_);
  if (!habits) return std::unexpected(habits.error());
  return failure::ClusterLook{.now = now(),
                              .controller_since = habits->controller_since,
                              .jobs = std::move(*parsed_jobs),
                              .nodes = std::move(*parsed_nodes)};
}

void SlurmPort::show_fences(std::vector<failure::NodeView>& nodes) {
  for (auto& [name, fence] : fences_) {
    const auto result = fence.program ? fence.program->poll() : std::nullopt;
    if (!result) continue;
    fence.state = result->good() ? failure::FenceState::off : failure::FenceState::failed;
    fence.program.reset();
  }
  for (failure::NodeView& node : nodes) {
    const auto fence = fences_.find(node.name);
    if (fence == fences_.end()) continue;
    node.fence = fence->second.state;
    const bool is_well = !node.down && !node.silent;
    if (is_well && !fence->second.program) fences_.erase(fence);
  }
}

Result<void> SlurmPort::start_fence(const std::string& node) {
  const auto known = fences_.find(node);
  if (known != fences_.end() && known->second.program) return {};
  const auto running = std::ranges::count_if(
      fences_, [](const auto& entry) { return entry.second.program != nullptr; });
  if (running >= static_cast<std::ptrdiff_t>(kFencesMax)) {
    return fail(
        {.code = "slurm.fences", .what = "too many hosts to fence at once", .why = {}, .fix = {}});
  }
  auto program = starter_(
      {.words = {access_.fence.value_or("false"), node}, .timeout = access_.fence_timeout});
  if (!program) return std::unexpected(program.error());
  fences_[node] = {.program = std::move(*program)};
  return {};
}

Result<void> SlurmPort::act(const failure::RecoveryAction& action) {
  const bool names_fit =
      std::ranges::all_of(action.nodes, is_name) && (action.job.empty() || is_name(action.job));
  if (!names_fit) {
    return fail({.code = "slurm.name",
                 .what = "invalid job or host name for Slurm: " + action.job,
                 .why = {},
                 .fix = {}});
  }
  if (action.kind == failure::ActionKind::fence_node) return start_fence(action.nodes.front());
  auto words = words_of(access_, runner_, action);
  if (!words) return std::unexpected(words.error());
  const auto said = call(access_, runner_, std::move(*words));
  if (!said) return std::unexpected(said.error());
  return {};
}

Result<SlurmHabits> slurm_habits(const SlurmAccess& access, const CommandRunner& runner) {
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
    if (name == "BOOT_TIME") habits.controller_since = parse_slurm_time(value);
    if (name == "ReturnToService") {
      habits.returns_service = static_cast<int>(parse_integer(value).value_or(0));
    }
  }
  return habits;
}

}  // namespace orrery::agent
