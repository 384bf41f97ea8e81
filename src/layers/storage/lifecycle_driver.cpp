#include "layers/storage/lifecycle_driver.h"

#include <utility>

namespace orrery::storage {

Result<void> LifecycleDriver::remember(const std::vector<LifecycleEvent>& events) {
  if (events.empty()) return {};
  if (auto written = append_(events); !written) return written;
  for (const LifecycleEvent& event : events) apply(memory_, event);
  return {};
}

Result<LifecycleTick> LifecycleDriver::tick(const std::function<bool()>& stop) {
  const auto look = port_.look();
  if (!look) return std::unexpected(look.error());
  LifecycleDecision decision = decide(*look, memory_, policy_);
  if (auto written = remember(decision.events); !written) return std::unexpected(written.error());
  LifecycleTick tick{.at = look->now,
                     .items = look->items.size(),
                     .away = look->away,
                     .away_why = look->away_why,
                     .waits = std::move(decision.waits),
                     .standing = std::move(decision.standing),
                     .aside = look->aside.size()};
  for (LifecycleAction& action : decision.actions) {
    if (stop && stop()) break;
    LifecycleDone done{.action = std::move(action)};
    if (done.action.kind != LifecycleActionKind::alert) {
      const auto outcome = port_.act(done.action);
      done.good = outcome.has_value();
      if (!outcome && !outcome.error().empty()) done.said = outcome.error().front().what;
      const auto events = learn(done.action, outcome.value_or(LifecycleOutcome{.why = done.said}),
                                memory_, policy_, port_.now());
      if (auto written = remember(events); !written) return std::unexpected(written.error());
    }
    tick.done.push_back(std::move(done));
  }
  return tick;
}

}  // namespace orrery::storage
