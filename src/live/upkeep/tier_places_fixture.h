// A store with a hot, a warm and a cold tier, each on its own drive, and a bucket "pail".
#pragma once

#include <string>
#include <vector>

#include "live/store/storage_class.h"
#include "live/store/store_fixture.h"
#include "live/upkeep/tier_places.h"

namespace orrery::upkeep {

class TierBench : public store::StoreBench {
 protected:
  TierBench()
      : StoreBench(
            {{"hot", {1, 0}, {"hot"}}, {"warm", {1, 0}, {"warm"}}, {"cold", {1, 0}, {"cold"}}}) {
    begin();
  }
  void set_rules(const std::string& rules) {
    ASSERT_TRUE(store->change_bucket("pail", [&](rows::Bucket& bucket) -> store::Answer<void> {
      bucket.documents = {{"lifecycle", rules}};
      return {};
    }));
  }
  // Puts an object with these parts into the tier of its class.
  void put(const std::string& key, const std::vector<std::string>& parts,
           rows::Version fresh = {}) {
    std::vector<rows::Blob> blobs;
    for (const std::string& part : parts) {
      blobs.push_back(written(part, store::tier_of_class(fresh.storage_class).value_or("hot")));
      fresh.extents.push_back(extent_of(blobs.back(), part));
      fresh.size += part.size();
    }
    ASSERT_TRUE(store->put("pail", key, fresh, blobs));
  }
  // Returns the tier that is read, then those of its copies, with a "+" after verified ones.
  std::vector<std::string> tiers_of(const std::string& key) {
    const auto found = store->find("pail", key, std::nullopt);
    if (!found) return {found.error().code};
    std::vector<std::string> all = {store::tier_of(*found)};
    for (const rows::TierCopy& copy : found->copies) {
      all.push_back(copy.tier + (copy.checked ? "+" : ""));
    }
    return all;
  }
};

}  // namespace orrery::upkeep
