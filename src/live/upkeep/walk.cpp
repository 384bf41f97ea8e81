#include "live/upkeep/walk.h"

namespace orrery::upkeep {
namespace {

constexpr std::size_t kWalkPage = 1000;

}  // namespace

store::Answer<void> walk_versions(store::Store& store, const std::string& bucket,
                                  const std::function<bool()>& stop, const TakeVersion& take) {
  store::PageRequest request{.bucket = bucket, .most = kWalkPage};
  rows::TimeMs successor_ms = 0;
  std::size_t newer = 0;
  while (!stop()) {
    const auto page = store::page_of_versions(store.metadata(), request);
    if (!page) return std::unexpected(page.error());
    for (std::size_t i = 0; i < page->entries.size(); ++i) {
      const store::PageEntry& entry = page->entries[i];
      const bool last_of_key =
          i + 1 < page->entries.size() ? page->entries[i + 1].key != entry.key : !page->truncated;
      VersionPlace place{.version = entry.version, .newest = entry.newest};
      if (entry.newest) {
        newer = 0;
      } else {
        place.since_ms = successor_ms;
        place.newer = newer++;
      }
      place.alone = entry.newest && last_of_key;
      successor_ms = entry.version.modified_ms;
      if (auto good = take(entry, place); !good) return good;
    }
    if (!page->truncated) break;
    request.after = page->entries.back().key;
    request.after_version = page->entries.back().version.id;
  }
  return {};
}

}  // namespace orrery::upkeep
