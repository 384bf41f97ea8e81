// The tiers of a store as the lifecycle policy sees them (storage/lifecycle_port.h): items are
// versions of objects, places are tiers.
//
// A copy in another tier consists of further blobs that the version names (records.h, TierCopy), so
// a move is four commits, and a reader notices none of them:
//   copy     the bytes are read (every block checked), written to blobs in the other tier and
//            synced; a commit adds the copy to the version. Reads continue as before.
//   verify   the copy is read back from its drives, and its MD5 (for large parts: the CRC in their
//            ETag) is compared with the version's, part by part; only then does it count. A copy
//            in a faster tier is read from then on.
//   switch   in the commit of the removal: the version's own extents become those of the next copy.
//   remove   the old blobs go to the garbage; readers that have them open keep them.
//
// After a crash between two of these steps the version has two copies; the next look asks again
// what the rules want.
//
// What the rules want: an object belongs to the tier of its storage class, or to the tier that a
// rule of its bucket moved it to (lifecycle.h). It also belongs to the fast tier for `promote_ms`
// after a read, or while it is restored. A checkpoint consists of the objects of one bucket with
// the same tags for run and step (kRunTag). It is complete once it has as many objects as kPartsTag
// says, is moved and removed as a whole, and is kept by the rules of the tiers (newest, window,
// milestones) instead. If no tier has such a rule, its objects are treated like any others. Nothing
// is remembered over a restart: a copy that this run has not verified is verified again.
#pragma once

#include <map>

#include "layers/storage/lifecycle_port.h"
#include "live/store/store.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::upkeep {

inline constexpr std::string_view kRunTag = "orrery-run";
inline constexpr std::string_view kStepTag = "orrery-step";
// number of objects of the checkpoint; one if the tag is missing
inline constexpr std::string_view kPartsTag = "orrery-parts";
inline constexpr std::string_view kRoleTag = "orrery-role";    // "checkpoint", "milestone", ...

// The reason when an object was put or removed since the last look. This does not count as a
// failure.
inline constexpr std::string_view kChangedMeanwhile = "it was changed in the meantime";

struct MoveSetting {
  rows::TimeMs day_ms = store::kDayMs;
  std::string fast_tier = "hot";   // tier to which read or restored objects are copied
  rows::TimeMs promote_ms = 0;     // how long an object stays promoted after a read; 0: objects are
                                   // not promoted
  bool keeps_checkpoints = false;  // some tier has a rule for checkpoints
  rows::TimeMs stale_ms = 6LL * 3600 * 1000;  // age at which an incomplete checkpoint is stale
  std::function<bool()> stop = [] { return false; };
};

class TierPlaces final : public storage::LifecyclePort {
 public:
  TierPlaces(store::Store& store, MoveSetting setting)
      : store_(store), setting_(std::move(setting)) {}

  Result<storage::LifecycleLook> look() override;
  Result<storage::LifecycleOutcome> act(const storage::LifecycleAction& action) override;
  Seconds now() const override;

  std::uint64_t bytes_moved() const { return bytes_moved_; }

 private:
  // An object of an item, as the last look found it.
  struct Member {
    std::string bucket;
    std::string key;
    std::string version_id;
    std::uint64_t stamp = 0;
    std::string wanted_class = {};  // class that a rule moves it to
  };
  using Members = std::vector<Member>;
  struct Gathered {
    storage::ItemView view;
    Members members = {};
    std::vector<rows::Version> versions = {};
    std::uint64_t parts = 1;
    rows::TimeMs last_ms = 0;
  };

  store::Answer<void> take(const rows::Bucket& bucket, const std::vector<LifecycleRule>& rules,
                           const std::string& key, const VersionPlace& place,
                           std::map<std::string, Gathered>& found);
  std::vector<std::string> wanted_tiers(const Member& member, const rows::Version& version) const;
  std::vector<storage::CopyView> copies_of(const Gathered& item) const;
  store::Answer<std::vector<rows::Version>> current(const Members& members);
  store::Answer<void> check_needs(const storage::LifecycleAction& action);

  store::Answer<storage::LifecycleOutcome> verify(const storage::LifecycleAction& action);
  store::Answer<storage::LifecycleOutcome> copy(const storage::LifecycleAction& action);
  store::Answer<storage::LifecycleOutcome> remove(const storage::LifecycleAction& action);
  store::Answer<void> copy_member(const Member& member, const rows::Version& version,
                                  const std::string& from, const std::string& to);
  store::Answer<void> mark_checked(const Member& member, const std::string& tier);
  store::Answer<void> drop_copy(const Member& member, const std::string& tier, bool may_go);

  store::Store& store_;
  MoveSetting setting_;
  std::map<std::string, Members> items_;
  std::uint64_t bytes_moved_ = 0;
};

// Returns these tiers as places of the policy, fastest first. All are durable, and an object is
// complete as soon as it is visible.
std::vector<storage::KeepPlace> places_of(const std::vector<store::Tier>& tiers);

}  // namespace orrery::upkeep
