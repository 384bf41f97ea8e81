#include "live/agent/slurm_parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>

#include "core/base/text.h"

namespace orrery::agent {
namespace {

std::unexpected<Diagnostics> malformed(std::string_view program, std::string_view line) {
  return fail({.code = "slurm.output",
               .place = {.file = std::string(program)},
               .what = "cannot read this line: " + std::string(line.substr(0, 200)),
               .why = "the answer of " + std::string(program) + " is not in the requested format",
               .fix = "check that the Slurm client programs are version 22.05 or later"});
}

// States in which the scheduler itself is active are left out: the agent does nothing about them.
const std::map<std::string_view, failure::JobPhase>& phases() {
  static const std::map<std::string_view, failure::JobPhase> kPhases = {
      {"PENDING", failure::JobPhase::pending},      {"REQUEUE_HOLD", failure::JobPhase::pending},
      {"SPECIAL_EXIT", failure::JobPhase::pending}, {"CONFIGURING", failure::JobPhase::starting},
      {"RUNNING", failure::JobPhase::running},      {"SUSPENDED", failure::JobPhase::running},
      {"STOPPED", failure::JobPhase::running},      {"SIGNALING", failure::JobPhase::running},
      {"RESIZING", failure::JobPhase::running},     {"FAILED", failure::JobPhase::failed},
      {"NODE_FAIL", failure::JobPhase::failed},     {"BOOT_FAIL", failure::JobPhase::failed},
      {"COMPLETED", failure::JobPhase::ended},      {"CANCELLED", failure::JobPhase::ended},
      {"TIMEOUT", failure::JobPhase::ended},        {"DEADLINE", failure::JobPhase::ended},
      {"PREEMPTED", failure::JobPhase::ended},      {"REVOKED", failure::JobPhase::ended},
      {"OUT_OF_MEMORY", failure::JobPhase::ended}};
  return kPhases;
}

failure::JobPhase phase_of(std::string_view state) {
  const auto found = phases().find(state);
  return found == phases().end() ? failure::JobPhase::completing : found->second;
}

bool is_launch_failed(std::string_view reason) { return reason.starts_with("launch failed"); }

bool is_held(std::string_view state, std::string_view reason) {
  return state == "REQUEUE_HOLD" || state == "SPECIAL_EXIT" || reason.starts_with("JobHeld") ||
         reason.starts_with("JobHoldMaxRequeue") || is_launch_failed(reason);
}

bool begins_with_digits(std::string_view line) {
  const std::size_t end = line.find_first_not_of("0123456789");
  return end != 0 && end != std::string_view::npos && line[end] == ';';
}

std::optional<failure::JobView> job_of(std::string_view line) {
  const auto fields = split(line, ';');
  constexpr std::size_t kFields = 8;
  if (fields.size() < kFields) return std::nullopt;
  const auto restarts = parse_integer(fields[2]);
  const auto nodes = expand_hosts(fields[6]);
  if (!restarts || *restarts < 0 || *restarts > 1'000'000'000 || !nodes) return std::nullopt;
  failure::JobView job{.id = std::string(fields[0]),
                       .phase = phase_of(fields[1]),
                       .restarts = static_cast<int>(*restarts),
                       .requeueable = fields[3] != "0",
                       .held = is_held(fields[1], fields[7]),
                       .launch_failed = is_launch_failed(fields[7]),
                       .waits_for_time = fields[7] == "BeginTime",
                       .eligible = parse_slurm_time(fields[4])};
  if (job.phase == failure::JobPhase::failed) job.ended = parse_slurm_time(fields[5]);
  if (job.phase != failure::JobPhase::pending) job.nodes = *nodes;
  return job;
}

// The base state and the flags of a text such as "down*+drain+not_responding", in lower case.
struct NodeState {
  std::vector<std::string> words;
  bool marked_silent = false;

  bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
};

NodeState state_of(std::string_view text) {
  NodeState state;
  for (const std::string_view part : split(text, '+')) {
    std::string word = lowered(trimmed(part));
    while (!word.empty() && std::string_view("*~#!%$@^-").find(word.back()) != std::string::npos) {
      state.marked_silent = state.marked_silent || word.back() == '*';
      word.pop_back();
    }
    state.words.push_back(std::move(word));
  }
  return state;
}

failure::NodeView node_of(std::string_view name, std::string_view text, std::string_view reason,
                          const SlurmMarks& marks) {
  const NodeState state = state_of(text);
  const auto any = [&state](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](std::string_view w) { return state.has(w); });
  };
  // A node that was taken out of service on purpose has not failed.
  const bool planned = any({"reboot", "reboot_issued", "reboot_requested", "maint", "powered_down",
                            "powering_down", "powering_up", "power_down", "power_up"});
  failure::NodeView node{.name = std::string(name)};
  node.down = state.has("down") && !planned;
  node.silent = (state.marked_silent || state.has("not_responding")) && !planned;
  node.drained = any({"drain", "drained", "draining", "fail", "failing"});
  node.broken = any({"fail", "failing"}) || (node.drained && reason.starts_with(marks.broken));
  node.spare = node.drained && reason.starts_with(marks.spare);
  return node;
}

// Expands "1-3,07" after the prefix "n".
bool expand_ranges(std::string_view prefix, std::string_view ranges, std::string_view suffix,
                   std::vector<std::string>& out) {
  for (const std::string_view range : split(ranges, ',')) {
    const auto ends = split(range, '-');
    const auto low = parse_integer(ends.front());
    const auto high = parse_integer(ends.back());
    if (ends.size() > 2 || !low || !high || *low < 0 || *high < *low) return false;
    const std::size_t width = ends.front().size();
    for (std::int64_t i = *low; i <= *high; ++i) {
      if (out.size() >= kHostsMax) return false;
      out.push_back(fmt::format("{}{:0{}}{}", prefix, i, width, suffix));
    }
  }
  return true;
}

// Splits the list at the commas outside brackets.
std::vector<std::string_view> outer_parts(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') ++depth;
    if (list[i] == ']') --depth;
    if (list[i] == ',' && depth == 0) {
      parts.push_back(list.substr(start, i - start));
      start = i + 1;
    }
  }
  parts.push_back(list.substr(start));
  return parts;
}

template <class View, class KeyOf>
void sort_and_unite(std::vector<View>& all, KeyOf key) {
  std::ranges::stable_sort(all, {}, key);
  const auto rest = std::ranges::unique(all, {}, key);
  all.erase(rest.begin(), rest.end());
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(std::string_view list) {
  std::vector<std::string> out;
  list = trimmed(list);
  if (list.empty() || list == "(null)") return out;
  for (const std::string_view part : outer_parts(list)) {
    const std::size_t open = part.find('[');
    const std::size_t close = part.find(']');
    const bool plain = open == std::string_view::npos && close == std::string_view::npos;
    if (plain && !part.empty() && out.size() < kHostsMax) {
      out.emplace_back(part);
      continue;
    }
    const bool ranged = !plain && open < close && close != std::string_view::npos;
    if (!ranged || !expand_ranges(part.substr(0, open), part.substr(open + 1, close - open - 1),
                                  part.substr(close + 1), out)) {
      return malformed("host list", list);
    }
  }
  return out;
}

Seconds parse_slurm_time(std::string_view text) {
  text = trimmed(text);
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != kShape.size()) return {};
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == 'd' ? !digit : text[i] != kShape[i]) return {};
  }
  const auto number = [text](std::size_t at, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(at, count)) value = value * 10 + (c - '0');
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!date.ok()) return {};
  const auto days_since = std::chrono::sys_days(date).time_since_epoch().count();
  return days(static_cast<double>(days_since)) + hours(number(11, 2)) + minutes(number(14, 2)) +
         seconds(number(17, 2));
}

Result<std::vector<failure::JobView>> parse_jobs(std::string_view text) {
  std::vector<failure::JobView> jobs;
  for (const std::string_view line : split(text, '\n')) {
    if (!begins_with_digits(line)) continue;
    auto job = job_of(line);
    if (!job) return malformed("squeue", line);
    jobs.push_back(std::move(*job));
  }
  sort_and_unite(jobs, &failure::JobView::id);
  return jobs;
}

Result<std::vector<failure::NodeView>> parse_nodes(std::string_view text, const SlurmMarks& marks) {
  std::vector<failure::NodeView> nodes;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, ';');
    if (fields.size() < 3 || fields[0].empty()) continue;
    if (fields[1].empty()) return malformed("sinfo", line);
    nodes.push_back(node_of(fields[0], fields[1], trimmed(fields[2]), marks));
  }
  if (nodes.empty()) return malformed("sinfo", text.empty() ? "(no nodes)" : text);
  sort_and_unite(nodes, &failure::NodeView::name);
  return nodes;
}

}  // namespace orrery::agent
