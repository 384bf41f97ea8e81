// A read-only check of the whole store against its rows: rows of every kind, every shard, and every
// file of the drives.
//
// Unreadable parts of the metadata do not end the check: what follows the damage is unknown, and is
// reported as such. What a missing drive holds is unknown, so an object that needs it is neither
// lost nor sound.
#pragma once

#include <functional>

#include "live/upkeep/mend.h"

namespace orrery::upkeep {

struct StoreCheck {
  std::uint64_t buckets = 0;
  std::uint64_t versions = 0;
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;  // of objects
  std::uint64_t damaged_shards = 0;
  std::uint64_t lost_blobs = 0;           // cannot be read
  std::uint64_t away_blobs = 0;           // cannot be read until a drive is back
  std::uint64_t unreferenced = 0;         // blobs that no version, part or upload names
  std::uint64_t orphans = 0;              // shard files that no row names
  std::uint64_t aside = 0;                // files set aside, which is no fault
  std::uint64_t unreadable = 0;           // places where the metadata could not be read
  bool stopped = false;                   // before its end: nothing is known of the rest
  std::vector<std::string> faults = {};   // the first hundred, in words
  std::vector<std::string> objects = {};  // "lost: BUCKET/KEY", and damaged or away: all of them
  std::vector<std::string> actions = {};  // what a repair would do, in words
  bool clean() const {
    return damaged_shards == 0 && lost_blobs == 0 && away_blobs == 0 && unreferenced == 0 &&
           orphans == 0 && unreadable == 0 && !stopped && faults.empty();
  }
};
// Reads every block if `deep`; otherwise only looks whether the files exist. Ends early with what it
// has found once `stop` returns true.
store::Answer<StoreCheck> check_store(store::Store& store, bool deep,
                                      const std::function<bool()>& stop = {});

}  // namespace orrery::upkeep
