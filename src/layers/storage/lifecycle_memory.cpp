#include "layers/storage/lifecycle_memory.h"

#include <string_view>

namespace orrery::storage {
namespace {

void remember_copy(LifecycleMemory& memory, const LifecycleEvent& event, CopyFinding finding) {
  ItemMemory& item = memory.items[event.item];
  if (finding == CopyFinding::good && item.digest.empty()) item.digest = event.digest;
  if (event.place.empty()) return;  // a shortened journal says the digest by itself
  item.copies[event.place] = {.stamp = event.stamp, .finding = finding};
}

// Keys end in "/item": an item that comes again under its old name begins anew.
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
      return;
    }
    case LifecycleEventKind::paced:
      memory.busy_until[event.place] = event.until;
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
  }
}

}  // namespace orrery::storage
