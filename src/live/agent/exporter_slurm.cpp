#include "live/agent/exporter_slurm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/base/statistics.h"
#include "core/base/text.h"
#include "live/agent/slurm_parse.h"

namespace orrery::agent {
namespace {

constexpr std::size_t kNodeFieldCount = 6;
constexpr std::size_t kJobFieldCount = 10;
// A running job that started long ago says nothing about today's queue.
constexpr Seconds kRecent = days(1);
constexpr std::array<std::string_view, 7> kStates = {"idle",  "mixed", "allocated", "drained",
                                                     "spare", "down",  "other"};
constexpr std::array<std::string_view, 6> kOwnWill = {"JobHeldUser", "JobHeldAdmin",
                                                      "Dependency",  "DependencyNeverSatisfied",
                                                      "BeginTime",   "JobHoldMaxRequeue"};
constexpr std::string_view kSpareMark = "spare";

Diagnostic bad_line(const char* program, std::string_view line) {
  return {.severity = Severity::warning,
          .code = "slurm.output",
          .place = {.file = program},
          .what = "cannot read this line: " + std::string(line.substr(0, 200)),
          .why = "it is left out of the metrics",
          .fix = "check that the Slurm client programs are version 22.05 or later"};
}

// Returns the state for texts such as "mixed+drain*". A node that is being drained counts as
// drained even while its last job runs.
std::string state_of(std::string_view text, std::string_view reason) {
  const std::string words = lowered(text);
  const auto has = [&words](std::string_view w) { return words.find(w) != std::string::npos; };
  if (has("down") && !has("power")) return "down";
  if (has("drain") || has("fail") || has("maint")) {
    return reason.starts_with(kSpareMark) ? "spare" : "drained";
  }
  if (has("not_responding") || has("reboot") || has("power") || has("unknown")) return "other";
  for (const std::string_view state : {"idle", "mixed", "allocated"}) {
    if (words.starts_with(state)) return std::string(state);
  }
  return words.starts_with("completing") ? "allocated" : "other";
}

// Calls `each` for lines with all fields. If a reason contains a line break, its second line is
// skipped, because it has too few separators to be mistaken for a row.
template <class Each>
void each_line(std::string_view text, std::size_t count, const char* program, Diagnostics& faults,
               const Each& each) {
  for (const std::string_view line : split(text, '\n')) {
    if (trimmed(line).empty()) continue;
    std::vector<std::string_view> fields = split(line, ';');
    for (std::string_view& f : fields) f = trimmed(f);
    if (fields.size() < count || !each(fields)) faults.push_back(bad_line(program, line));
  }
}

class FamiliesWriter {
 public:
  explicit FamiliesWriter(MetricFamilies families) : families_(std::move(families)) {}

  void add(std::string_view name, std::vector<std::pair<std::string, std::string>> labels,
           double value) {
    const auto family = std::ranges::find(families_, name, &MetricFamily::name);
    if (family != families_.end()) family->samples.push_back({std::move(labels), value});
  }
  MetricFamilies done() && { return std::move(families_); }

 private:
  MetricFamilies families_;
};

void add_nodes(FamiliesWriter& out, const SlurmLook& look) {
  std::map<std::string_view, double> by_state;
  for (const std::string_view s : kStates) by_state[s] = 0;
  std::set<std::string_view> seen;
  double total = 0;
  double used = 0;
  double free = 0;
  for (const SlurmNode& n : look.nodes) {
    if (!seen.insert(n.name).second) continue;
    ++by_state[n.state];
    total += n.gpus;
    used += n.gpus_used;
    free += n.gpus_free();
  }
  for (const auto& [state, count] : by_state) {
    out.add("orrery_measured_nodes", {{"state", std::string(state)}}, count);
  }
  out.add("orrery_measured_cluster_gpus", {{"use", "total"}}, total);
  out.add("orrery_measured_cluster_gpus", {{"use", "allocated"}}, used);
  out.add("orrery_measured_cluster_gpus", {{"use", "free"}}, free);
}

const SlurmJob* head_of(const SlurmLook& look, const std::string& partition) {
  const SlurmJob* head = nullptr;
  for (const SlurmJob& j : look.jobs) {
    if (j.partition != partition || !j.waits_for_place()) continue;
    const bool before =
        head == nullptr || j.priority > head->priority ||
        (j.priority == head->priority && j.submitted.base() < head->submitted.base());
    if (before) head = &j;
  }
  return head;
}

void add_head(FamiliesWriter& out, const SlurmLook& look, const std::string& partition) {
  const SlurmJob* head = head_of(look, partition);
  double fitting = 0;
  for (const SlurmNode& n : look.nodes) {
    if (n.partition != partition || head == nullptr) continue;
    // A job without GPUs may need a whole node or only a part of one; counting only idle nodes is
    // the safe choice.
    const bool fits =
        head->gpus_per_node > 0 ? n.gpus_free() >= head->gpus_per_node : n.state == "idle";
    fitting += fits ? 1 : 0;
  }
  const std::vector<std::pair<std::string, std::string>> labels = {{"partition", partition}};
  out.add("orrery_measured_queue_head_nodes", labels, head ? head->nodes : 0);
  out.add("orrery_measured_queue_head_gpus", labels,
          head ? static_cast<double>(head->nodes) * head->gpus_per_node : 0);
  out.add("orrery_measured_queue_head_fitting_nodes", labels, fitting);
}

void add_gpus(FamiliesWriter& out, const SlurmLook& look, const std::string& partition) {
  double total = 0;
  double used = 0;
  double free = 0;
  for (const SlurmNode& n : look.nodes) {
    if (n.partition != partition) continue;
    total += n.gpus;
    used += n.gpus_used;
    free += n.gpus_free();
  }
  out.add("orrery_measured_gpus", {{"partition", partition}, {"use", "total"}}, total);
  out.add("orrery_measured_gpus", {{"partition", partition}, {"use", "allocated"}}, used);
  out.add("orrery_measured_gpus", {{"partition", partition}, {"use", "free"}}, free);
}

std::vector<double> waits_of(const SlurmLook& look, const std::string& partition, Seconds now) {
  std::vector<double> waits;
  for (const SlurmJob& j : look.jobs) {
    if (j.partition != partition || j.submitted <= Seconds(0)) continue;
    const bool recent = j.running && j.started > Seconds(0) && now - j.started < kRecent;
    const Seconds wait = j.waits_for_place() ? now - j.submitted
                         : recent            ? j.started - j.submitted
                                             : Seconds(-1);
    if (wait >= Seconds(0)) waits.push_back(wait.base());
  }
  return waits;
}

void add_jobs(FamiliesWriter& out, const SlurmLook& look, const std::string& partition,
              Seconds now) {
  std::map<std::string, double> pending = {{"Resources", 0}, {"Priority", 0}};
  double running = 0;
  for (const SlurmJob& j : look.jobs) {
    if (j.partition != partition) continue;
    if (j.pending) ++pending[j.reason];
    running += j.running ? 1 : 0;
  }
  for (const auto& [reason, count] : pending) {
    out.add("orrery_measured_jobs",
            {{"partition", partition}, {"state", "pending"}, {"reason", reason}}, count);
  }
  out.add("orrery_measured_jobs", {{"partition", partition}, {"state", "running"}, {"reason", ""}},
          running);
  const std::vector<double> waits = waits_of(look, partition, now);
  for (const double q : {0.5, 0.9}) {
    out.add("orrery_measured_queue_wait_seconds",
            {{"partition", partition}, {"quantile", shortest(q)}}, quantile(waits, q));
  }
}

Result<std::string> answer(const SlurmQuestion& question, std::vector<std::string> words,
                           const CommandRunner& runner) {
  Command command{
      .words = std::move(words), .timeout = question.timeout, .environment = {{"TZ", "UTC"}}};
  if (!question.conf.empty()) command.environment.emplace_back("SLURM_CONF", question.conf);
  const auto result = runner(command);
  if (!result) return std::unexpected(result.error());
  if (result->good()) return result->out;
  return fail({.severity = Severity::warning,
               .code = "slurm.failed",
               .place = {.file = command.words.front()},
               .what = result->timed_out
                           ? "there was no answer in time"
                           : fmt::format("the command ended with exit code {}", result->exit_code),
               .why = std::string(trimmed(result->err).substr(0, 300)),
               .fix = "run it by hand: " + to_text(command)});
}

}  // namespace

int gpus_in(std::string_view gres) {
  std::int64_t gpus = 0;
  // Commas within parentheses separate sockets or indices.
  std::string plain;
  int depth = 0;
  for (const char c : gres) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) plain += c;
    depth -= c == ')' && depth > 0 ? 1 : 0;
  }
  for (const std::string_view part : split(plain, ',')) {
    std::vector<std::string_view> words = split(trimmed(part), ':');
    if (!words.empty() && words.front() == "gres") words.erase(words.begin());
    if (words.empty() || words.front() != "gpu") continue;
    gpus += words.size() == 1 ? 1 : parse_integer(words.back()).value_or(1);
  }
  return static_cast<int>(std::clamp<std::int64_t>(gpus, 0, 1'000'000));
}

bool SlurmJob::waits_for_place() const {
  return pending && std::ranges::find(kOwnWill, reason) == kOwnWill.end();
}

std::vector<SlurmNode> parse_sinfo(std::string_view text, Diagnostics& faults) {
  std::vector<SlurmNode> nodes;
  each_line(text, kNodeFieldCount, "sinfo", faults, [&nodes](const auto& f) {
    if (f[0].empty() || f[2].empty()) return false;
    nodes.push_back({.name = std::string(f[0]),
                     .partition = std::string(f[1]),
                     .state = state_of(f[2], f[5]),
                     .gpus = gpus_in(f[3]),
                     .gpus_used = gpus_in(f[4])});
    return true;
  });
  return nodes;
}

std::vector<SlurmJob> parse_squeue(std::string_view text, Diagnostics& faults) {
  std::vector<SlurmJob> jobs;
  each_line(text, kJobFieldCount, "squeue", faults, [&jobs](const auto& f) {
    const auto nodes = parse_integer(f[3]);
    if (f[0].empty() || !nodes || *nodes < 0 || *nodes > 10'000'000) return false;
    const int count = std::max(1, static_cast<int>(*nodes));
    const int per_node = gpus_in(f[4]);
    const int per_job = gpus_in(f[5]);
    jobs.push_back({// A waiting job may name several partitions; the first one is used.
                    .partition = std::string(split(f[1], ',').front()),
                    .pending = f[2] == "PENDING",
                    .running = f[2] == "RUNNING",
                    .nodes = count,
                    .gpus_per_node = per_node > 0 ? per_node : (per_job + count - 1) / count,
                    .priority = parse_integer(f[6]).value_or(0),
                    .submitted = parse_slurm_time(f[7]),
                    .started = parse_slurm_time(f[8]),
                    .reason = std::string(f[9])});
    return true;
  });
  return jobs;
}

Result<SlurmLook> look_at_slurm(const SlurmQuestion& question, const CommandRunner& runner) {
  const auto nodes = answer(question, {"sinfo", "-h", "-N", "-O", kExporterNodeFields}, runner);
  if (!nodes) return std::unexpected(nodes.error());
  const auto jobs = answer(question, {"squeue", "-h", "-O", kExporterJobFields}, runner);
  if (!jobs) return std::unexpected(jobs.error());
  SlurmLook look;
  look.nodes = parse_sinfo(*nodes, look.faults);
  look.jobs = parse_squeue(*jobs, look.faults);
  return look;
}

Result<MetricFamilies> slurm_metrics(const SlurmLook& look, Seconds now) {
  auto families = metrics_from("slurm");
  if (!families) return std::unexpected(families.error());
  FamiliesWriter out(*std::move(families));
  add_nodes(out, look);
  std::set<std::string> partitions;
  for (const SlurmNode& n : look.nodes) partitions.insert(n.partition);
  for (const std::string& p : partitions) {
    add_gpus(out, look, p);
    add_jobs(out, look, p, now);
    add_head(out, look, p);
  }
  return std::move(out).done();
}

}  // namespace orrery::agent
