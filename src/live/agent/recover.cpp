#include "live/agent/recover.h"

#include <algorithm>
#include <iterator>

#include "live/agent/journal_lines.h"

namespace orrery::agent {
namespace {

constexpr Seconds kBusyInterval = milliseconds(200);

}  // namespace

Seconds next_look(const TickReport& report, Seconds interval) {
  return report.jobs_waiting > 0 ? min(interval, kBusyInterval) : interval;
}

Result<void> RecoverAgent::remember(const std::vector<failure::RecoveryEvent>& events) {
  std::vector<std::string> lines;
  std::ranges::transform(events, std::back_inserter(lines),
                         [](const failure::RecoveryEvent& event) { return line_of(event); });
  if (auto written = append_(lines); !written) return written;
  for (const failure::RecoveryEvent& event : events) apply(memory_, event, policy_.lemon.memory);
  return {};
}

Result<TickReport> RecoverAgent::tick() {
  const auto view = port_.look();
  if (!view) return std::unexpected(view.error());
  failure::Decision decision = decide(*view, memory_, policy_);
  TickReport report{.at = view->now};
  if (!decision.events.empty() || !decision.actions.empty()) {
    std::vector<std::string> lines = {line_of_change(journalled_, *view)};
    for (const failure::RecoveryEvent& event : decision.events) lines.push_back(line_of(event));
    for (const failure::RecoveryAction& action : decision.actions) lines.push_back(line_of(action));
    if (auto written = append_(lines); !written) return std::unexpected(written.error());
    journalled_ = *view;
    for (const failure::RecoveryEvent& e : decision.events) apply(memory_, e, policy_.lemon.memory);
  }
  for (failure::RecoveryAction& action : decision.actions) {
    ActionOutcome outcome{.action = std::move(action)};
    if (outcome.action.kind != failure::ActionKind::alert) {
      const auto done = port_.act(outcome.action);
      outcome.good = done.has_value();
      if (!done) outcome.said = done.error().empty() ? "" : done.error().front().what;
      const auto& nodes = outcome.action.nodes;
      const failure::RecoveryEvent tried{.kind = failure::RecoveryEventKind::tried,
                                         .at = port_.now(),
                                         .node = nodes.empty() ? "" : nodes.front(),
                                         .key = outcome.action.key,
                                         .good = outcome.good};
      if (auto written = remember({tried}); !written) return std::unexpected(written.error());
    }
    report.outcomes.push_back(std::move(outcome));
  }
  report.events = std::move(decision.events);
  report.jobs_waiting = static_cast<int>(std::ranges::count_if(
      memory_.jobs, [](const auto& pair) { return pair.second.loss && !pair.second.blamed; }));
  return report;
}

}  // namespace orrery::agent
