#include "layers/storage/lifecycle_memory.h"

#include <string_view>

namespace orrery::storage {
namespace {

void remember_copy(LifecycleMemory& memory, const LifecycleEvent& event, CopyFinding finding) {
  ItemMemory& item = memory.items[event.item];
  if (finding == CopyFinding::good && item.digest.empty()) item.digest = event.digest;
  if (event.place.empty()) return;  // a compacted journal has the digest without a copy
  item.copies[event.place] = {.stamp = event.stamp, .finding = finding, .why = event.why};
}

// Keys end in "/item". An item that reappears under its old name starts without history.
void forget(LifecycleMemory& memory, const std::string& item) {
  const auto is_its = [&](std::string_view key) {
    return key.ends_with(item) && key.size() > item.size() &&
           key[key.size() - item.size() - 1] == '/';
  };
  memory.items.erase(item);
  std::erase_if(memory.attempts, [&](const auto& pair) { return is_its(pair.first); });
  std::erase_if(memory.alerted, is_its);
}

}  // namespace

void apply(LifecycleMemory& memory, const LifecycleEvent& event) {
  switch (event.kind) {
    case LifecycleEventKind::verified:
      return remember_copy(memory, event, CopyFinding::good);
    case LifecycleEventKind::corrupt:
      return remember_copy(memory, event, CopyFinding::corrupt);
    case LifecycleEventKind::conflict:
      return remember_copy(memory, event, CopyFinding::conflict);
    case LifecycleEventKind::tried: {
      LifecycleAttempt& attempt = memory.attempts[event.key];
      attempt.count = event.good ? 0 : attempt.count + 1;
      attempt.last = event.at;
      attempt.good = event.good;
      attempt.why = event.why;
      return;
    }
    case LifecycleEventKind::paced:
      memory.busy_until[event.place] = event.until;
      memory.paced_at[event.place] = event.at;
      return;
    case LifecycleEventKind::gone:
      memory.items[event.item].gone = event.at;
      return;
    case LifecycleEventKind::back:
      memory.items[event.item].gone.reset();
      return;
    case LifecycleEventKind::forgotten:
      return forget(memory, event.item);
    case LifecycleEventKind::alerted:
      memory.alerted.insert(event.key);
      return;
    case LifecycleEventKind::aside:
      memory.aside[event.key] = {.item = event.item,
                                 .place = event.place,
                                 .stamp = event.stamp,
                                 .digest = event.digest,
                                 .made = event.made,
                                 .is_seen = event.good,
                                 .waited = event.waited,
                                 .since = event.clock};
      if (!event.clock.boot.empty()) memory.clock = event.clock, memory.clock_at = event.at;
      return;
    case LifecycleEventKind::purged:
      memory.aside.erase(event.key);
      return;
    case LifecycleEventKind::ticked:
      memory.clock = event.clock, memory.clock_at = event.at;
      return;
    case LifecycleEventKind::jumped:
      memory.doubt = {.since = event.clock, .offset = event.until};
      return;
  }
}

}  // namespace orrery::storage
