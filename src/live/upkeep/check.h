// A read-only check of the whole store against its rows: rows of every kind, every shard, and every
// file of the drives.
//
// Unreadable parts of the metadata do not end the check: whatever follows the damage is unknown,
// and is reported as such. The contents of a missing drive are unknown, so an object that needs the
// drive counts neither as lost nor as sound.
#pragma once

#include <functional>

#include "live/upkeep/mend.h"

namespace orrery::upkeep {

struct StoreCheck {
  std::uint64_t buckets = 0;
  std::uint64_t versions = 0;
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;  // bytes of objects
  std::uint64_t damaged_shards = 0;
  std::uint64_t lost_blobs = 0;           // blobs that cannot be read
  std::uint64_t away_blobs = 0;           // blobs that cannot be read until a drive is back
  std::uint64_t unreferenced = 0;         // blobs that no version, part or upload uses
  std::uint64_t orphans = 0;              // shard files that no row refers to
  std::uint64_t aside = 0;                // files set aside, which is not a fault
  std::uint64_t unreadable = 0;           // places where the metadata could not be read
  bool stopped = false;                   // the check was stopped early, so the rest is unknown
  std::vector<std::string> faults = {};   // the first hundred faults, as messages
  std::vector<std::string> objects = {};  // all damaged objects, as "lost: BUCKET/KEY"; "damaged"
                                          // and "away" likewise
  std::vector<std::string> actions = {};  // what a repair would do, as messages
  bool clean() const {
    return damaged_shards == 0 && lost_blobs == 0 && away_blobs == 0 && unreferenced == 0 &&
           orphans == 0 && unreadable == 0 && !stopped && faults.empty();
  }
};
// Reads every block if `deep`; otherwise only checks whether the files exist. Once `stop` returns
// true, it ends early and returns what it has found so far.
store::Answer<StoreCheck> check_store(store::Store& store, bool deep,
                                      const std::function<bool()>& stop = {});

}  // namespace orrery::upkeep
