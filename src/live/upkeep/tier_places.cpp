#include "live/upkeep/tier_places.h"

#include <algorithm>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/rows/codec.h"
#include "live/s3/hash.h"
#include "live/store/storage_class.h"
#include "live/upkeep/copy_extents.h"
#include "live/upkeep/quick_etag.h"
#include "live/upkeep/walk.h"

namespace orrery::upkeep {
namespace {

using storage::LifecycleAction;
using storage::LifecycleActionKind;
using storage::LifecycleLook;
using storage::LifecycleOutcome;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kItemsMax = 2000;  // objects per look that are not part of a checkpoint; the
                                         // rest follows later

Seconds seconds_of(rows::TimeMs moment) { return seconds(static_cast<double>(moment) / 1000); }

std::unexpected<Diagnostics> stays(const store::Refused& why) {
  std::string what = why.message.empty() ? why.code : why.code + ": " + why.message;
  if (why.code == store::kRowChanged || why.code.starts_with("NoSuch")) what = kChangedMeanwhile;
  return fail(
      {.code = "lifecycle.store", .place = {}, .what = std::move(what), .why = {}, .fix = {}});
}

const std::vector<rows::Extent>* extents_at(const rows::Version& version, const std::string& tier) {
  if (store::tier_of(version) == tier) return &version.extents;
  const auto at = std::ranges::find(version.copies, tier, &rows::TierCopy::tier);
  return at == version.copies.end() ? nullptr : &at->extents;
}

// Blobs are never written again, so the first blob of a copy identifies it; an empty object has
// none.
std::string stamp_at(const rows::Version& version, const std::vector<rows::Extent>& extents) {
  return std::to_string(version.stamp) + '.' + (extents.empty() ? "" : extents.front().blob);
}

bool is_held(const rows::Version& version, rows::TimeMs now) {
  return version.legal_hold ||
         (!version.retention.mode.empty() && version.retention.until_ms > now);
}

bool needs_something(const storage::ItemView& view, const rows::Version& version) {
  std::vector<std::string> has = {store::tier_of(version)};
  for (const rows::TierCopy& copy : version.copies) has.push_back(copy.tier);
  std::vector<std::string> wants = *view.wanted;
  std::ranges::sort(has);
  std::ranges::sort(wants);
  return has != wants || !std::ranges::all_of(version.copies, [](const rows::TierCopy& copy) {
           return copy.checked;
         });
}

// Reads the stored parts and returns their ETags, joined: the MD5 of each part, or its CRC if it
// has no MD5 (quick_etag.h). Returns a fault if a part cannot be read.
drives::Outcome<std::string> digest_of(store::ObjectReader& reader,
                                       const std::vector<rows::Extent>& extents,
                                       const std::function<bool()>& stop) {
  std::string digest;
  std::uint64_t begin = 0;
  std::string piece;
  for (const rows::Extent& extent : extents) {
    s3::Hash md5(s3::HashKind::md5);
    const auto crc_wanted = crc_of_etag(extent.etag);
    std::uint64_t crc = 0;
    for (std::uint64_t done = 0; done < extent.size; done += piece.size()) {
      if (stop()) return drives::fault(drives::PortFault::failed, "stopped");
      piece.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(kPieceBytes, extent.size - done)));
      const auto got = reader.read(begin + done, piece);
      if (!got) return std::unexpected(got.error());
      if (*got != piece.size())
        return drives::fault(drives::PortFault::corrupt, "the copy is shorter than its source");
      if (crc_wanted) {
        crc = drives::content_crc(piece, crc);
      } else {
        md5.add(piece);
      }
    }
    digest += !crc_wanted          ? to_hex(md5.finish())
              : crc == *crc_wanted ? extent.etag
                                   : to_hex(rows::big_endian(crc));
    digest += ' ';
    begin += extent.size;
  }
  return digest;
}

std::string digest_wanted(const std::vector<rows::Extent>& extents) {
  std::string digest;
  for (const rows::Extent& extent : extents) digest += extent.etag + ' ';
  return digest;
}

}  // namespace

std::vector<storage::KeepPlace> places_of(const std::vector<store::Tier>& tiers) {
  std::vector<storage::KeepPlace> places;
  for (const std::string_view name : store::kTierOrder) {
    if (std::ranges::find(tiers, name, &store::Tier::name) != tiers.end()) {
      places.push_back({.name = std::string(name)});
    }
  }
  return places;
}

Seconds TierPlaces::now() const { return seconds_of(store_.now_ms()); }

std::vector<std::string> TierPlaces::wanted_tiers(const Member& member,
                                                  const rows::Version& version) const {
  const std::string& wanted =
      member.wanted_class.empty() ? version.storage_class : member.wanted_class;
  std::vector<std::string> tiers = {store::tier_of_class(wanted).value_or("hot")};
  if (!store_.has_tier(tiers.front())) tiers = {store::tier_of(version)};
  const rows::TimeMs now = store_.now_ms();
  const rows::TimeMs read = store_.reads().last(member.bucket, member.key, member.version_id);
  const bool near = version.restored_until_ms > now ||
                    (setting_.promote_ms > 0 && read > 0 && read + setting_.promote_ms > now);
  if (near && store_.has_tier(setting_.fast_tier) && tiers.front() != setting_.fast_tier) {
    tiers.push_back(setting_.fast_tier);
  }
  return tiers;
}

// A tier in which every object of the item has a copy counts as complete; with only some of them,
// as begun.
std::vector<storage::CopyView> TierPlaces::copies_of(const Gathered& item) const {
  std::vector<storage::CopyView> copies;
  for (const store::Tier& tier : store_.setting().tiers) {
    storage::CopyView copy{.place = tier.name, .written = seconds_of(item.last_ms)};
    std::size_t there = 0;
    std::string stamps;
    for (const rows::Version& version : item.versions) {
      const auto* extents = extents_at(version, tier.name);
      if (!extents) continue;
      ++there;
      stamps += stamp_at(version, *extents) + ' ';
      copy.size += bytes(static_cast<double>(version.size));
    }
    if (there == 0) continue;
    copy.complete = there == item.versions.size() && there >= item.parts;
    copy.stamp = item.versions.size() == 1 ? stamps : to_hex(s3::md5(stamps));
    copies.push_back(std::move(copy));
  }
  return copies;
}

store::Answer<void> TierPlaces::take(const rows::Bucket& bucket,
                                     const std::vector<LifecycleRule>& rules,
                                     const std::string& key, const VersionPlace& place,
                                     std::map<std::string, Gathered>& found) {
  const rows::Version& version = place.version;
  if (version.marker) return {};
  const rows::TimeMs now = store_.now_ms();
  Member member{bucket.name, key, version.id, version.stamp};
  const std::string run(net::header_of(version.tags, kRunTag));
  if (setting_.keeps_checkpoints && !run.empty() && place.newest) {
    const std::string step(net::header_of(version.tags, kStepTag));
    Gathered& item = found[bucket.name + '/' + run + '@' + step];
    item.view.run = bucket.name + '/' + run;
    item.view.step = parse_integer(step).value_or(0);
    item.view.made = max(item.view.made, seconds_of(version.modified_ms));
    item.view.milestone |= net::header_of(version.tags, kRoleTag) == "milestone";
    item.view.held |= is_held(version, now);
    const auto parts = parse_integer(net::header_of(version.tags, kPartsTag)).value_or(1);
    item.parts = std::max(item.parts, static_cast<std::uint64_t>(std::max<std::int64_t>(1, parts)));
    item.last_ms = std::max(item.last_ms, version.modified_ms);
    item.members.push_back(std::move(member));
    item.versions.push_back(version);
    return {};
  }
  if (found.size() >= kItemsMax) return {};
  member.wanted_class = class_wanted(rules, key, place, now, setting_.day_ms).value_or("");
  Gathered item{.view = {.made = seconds_of(version.modified_ms), .held = is_held(version, now)}};
  item.view.wanted = wanted_tiers(member, version);
  if (!needs_something(item.view, version)) return {};
  item.last_ms = version.modified_ms;
  item.members.push_back(member);
  item.versions.push_back(version);
  found.emplace(bucket.name + '/' + key + '@' + version.id, std::move(item));
  return {};
}

Result<LifecycleLook> TierPlaces::look() {
  std::map<std::string, Gathered> found;
  const auto buckets = store_.buckets("");
  if (!buckets) return stays(buckets.error());
  for (const rows::Bucket& bucket : *buckets) {
    const std::string_view text = net::header_of(bucket.documents, "lifecycle");
    const auto lifecycle =
        text.empty() ? store::Answer<Lifecycle>(Lifecycle{}) : lifecycle_of(text);
    const std::vector<LifecycleRule> rules =
        lifecycle ? lifecycle->rules : std::vector<LifecycleRule>{};
    const auto walked =
        walk_versions(store_, bucket.name, setting_.stop,
                      [&](const store::PageEntry& entry, const VersionPlace& place) {
                        return take(bucket, rules, entry.key, place, found);
                      });
    if (!walked && walked.error().code != "NoSuchBucket") return stays(walked.error());
  }
  LifecycleLook look{.now = now()};
  items_.clear();
  for (auto& [id, item] : found) {
    const bool whole = item.members.size() >= item.parts;
    // A checkpoint that is still being written is left out. One that never became complete is
    // included once it is stale.
    if (!whole && store_.now_ms() - item.last_ms < setting_.stale_ms) continue;
    item.view.id = id;
    item.view.copies = copies_of(item);
    look.items.push_back(std::move(item.view));
    items_.emplace(id, std::move(item.members));
  }
  return look;
}

// Returns the current versions; refused if one has been replaced.
store::Answer<std::vector<rows::Version>> TierPlaces::current(const Members& members) {
  std::vector<rows::Version> versions;
  for (const Member& member : members) {
    auto version = store_.find(member.bucket, member.key, member.version_id);
    if (!version) return std::unexpected(version.error());
    if (version->stamp != member.stamp) return store::refused(std::string(store::kRowChanged));
    versions.push_back(std::move(*version));
  }
  return versions;
}

store::Answer<void> TierPlaces::check_needs(const LifecycleAction& action) {
  for (const storage::CopyNeed& need : action.needs) {
    const auto item = items_.find(need.item);
    if (item == items_.end()) return store::refused(std::string(store::kRowChanged));
    auto versions = current(item->second);
    if (!versions) return std::unexpected(versions.error());
    const auto copies = copies_of({.view = {}, .versions = std::move(*versions)});
    const auto at = std::ranges::find(copies, need.place, &storage::CopyView::place);
    if (at == copies.end() || !at->complete || at->stamp != need.stamp) {
      return store::refused(std::string(store::kRowChanged),
                            "a copy that this step relies on is missing");
    }
  }
  return {};
}

store::Answer<LifecycleOutcome> TierPlaces::verify(const LifecycleAction& action) {
  const Members& members = items_.at(action.item);
  auto versions = current(members);
  if (!versions) return std::unexpected(versions.error());
  LifecycleOutcome outcome{.good = true, .sound = true};
  for (const rows::Version& version : *versions) {
    const auto* extents = extents_at(version, action.place);
    if (!extents) return store::refused(std::string(store::kRowChanged));
    auto reader = store_.open_extents(*extents);
    if (!reader) return std::unexpected(reader.error());
    const auto digest = digest_of(**reader, *extents, setting_.stop);
    if (!digest && digest.error().kind != drives::PortFault::corrupt)
      return store::refused(digest.error());
    if (!digest || *digest != digest_wanted(*extents)) outcome.sound = false;
    outcome.digest += digest.value_or("unreadable");
  }
  const auto copies = copies_of({.view = {}, .versions = std::move(*versions)});
  outcome.stamp = std::ranges::find(copies, action.place, &storage::CopyView::place)->stamp;
  for (const Member& member : members) {
    if (!*outcome.sound) break;
    if (auto marked = mark_checked(member, action.place); !marked)
      return std::unexpected(marked.error());
  }
  return outcome;
}

// Records that a copy was read back intact. If its tier is faster, reads use it from now on.
store::Answer<void> TierPlaces::mark_checked(const Member& member, const std::string& tier) {
  const auto version = store_.find(member.bucket, member.key, member.version_id);
  if (!version) return std::unexpected(version.error());
  const auto at = std::ranges::find(version->copies, tier, &rows::TierCopy::tier);
  if (at == version->copies.end() || at->checked) return {};
  const auto done = store_.change_version(
      member.bucket, member.key, member.version_id, [&](rows::Version& now) -> store::Answer<void> {
        const auto copy = std::ranges::find(now.copies, tier, &rows::TierCopy::tier);
        if (now.stamp != member.stamp || copy == now.copies.end()) {
          return store::refused(std::string(store::kRowChanged));
        }
        copy->checked = true;
        if (store::tier_rank(tier) > store::tier_rank(store::tier_of(now))) return {};
        const std::string before = store::tier_of(now);
        std::swap(now.extents, copy->extents);
        copy->tier = before;
        now.tier = tier;
        return {};
      });
  if (!done) return std::unexpected(done.error());
  return {};
}

store::Answer<LifecycleOutcome> TierPlaces::copy(const LifecycleAction& action) {
  const Members& members = items_.at(action.item);
  const auto versions = current(members);
  if (!versions) return std::unexpected(versions.error());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (auto made = copy_member(members[i], (*versions)[i], action.from, action.place); !made) {
      return std::unexpected(made.error());
    }
  }
  return LifecycleOutcome{.good = true};
}

store::Answer<void> TierPlaces::copy_member(const Member& member, const rows::Version& version,
                                            const std::string& from, const std::string& to) {
  const auto* source = extents_at(version, from);
  if (!source) return store::refused(std::string(store::kRowChanged));
  auto reader = store_.open_extents(*source);
  if (!reader) return std::unexpected(reader.error());
  auto made = copy_extents(store_, **reader, *source, to, setting_.stop);
  if (!made) return std::unexpected(made.error());
  const auto done = store_.change_version(
      member.bucket, member.key, member.version_id,
      [&](rows::Version& now) -> store::Answer<void> {
        if (now.stamp != member.stamp) return store::refused(std::string(store::kRowChanged));
        if (store::tier_of(now) ==
            to) {  // the copy that reads use is damaged: read the intact one instead
          const auto good = std::ranges::find(now.copies, from, &rows::TierCopy::tier);
          if (good == now.copies.end()) return store::refused(std::string(store::kRowChanged));
          now.extents = good->extents;
          now.tier = from;
          now.copies.erase(good);
        }
        std::erase_if(now.copies, [&](const rows::TierCopy& copy) { return copy.tier == to; });
        now.copies.push_back({.tier = to, .extents = made->extents});
        return {};
      },
      made->blobs);
  if (!done) {
    if (!done.error().undecided) {
      for (const rows::Blob& blob : made->blobs) store_.forget(blob);
    }
    return std::unexpected(done.error());
  }
  bytes_moved_ += version.size;
  return {};
}

store::Answer<LifecycleOutcome> TierPlaces::remove(const LifecycleAction& action) {
  const Members& members = items_.at(action.item);
  const auto versions = current(members);
  if (!versions) return std::unexpected(versions.error());
  const auto copies = copies_of({.view = {}, .versions = *versions});
  const auto at = std::ranges::find(copies, action.place, &storage::CopyView::place);
  if (at == copies.end()) return LifecycleOutcome{.good = true};
  if (at->stamp != action.stamp) return store::refused(std::string(store::kRowChanged));
  // If no other step relies on the item, all of it may be removed.
  const bool may_go =
      std::ranges::find(action.needs, action.item, &storage::CopyNeed::item) == action.needs.end();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    const rows::Version& version = (*versions)[i];
    if (!extents_at(version, action.place)) continue;
    if (!version.copies.empty()) {
      if (auto gone = drop_copy(member, action.place, may_go); !gone)
        return std::unexpected(gone.error());
      continue;
    }
    // This is the last copy of a checkpoint that no rule keeps.
    const auto gone = store_.remove(
        member.bucket, member.key,
        {.version_id = member.version_id,
         .only = [&](const rows::Version& now) { return now.stamp == member.stamp; }});
    if (!gone) return std::unexpected(gone.error());
  }
  return LifecycleOutcome{.good = true};
}

// Removes a copy. If reads use it, the fastest of the other copies takes its place in the same
// commit.
store::Answer<void> TierPlaces::drop_copy(const Member& member, const std::string& tier,
                                          bool may_go) {
  const auto done = store_.change_version(
      member.bucket, member.key, member.version_id, [&](rows::Version& now) -> store::Answer<void> {
        if (now.stamp != member.stamp) return store::refused(std::string(store::kRowChanged));
        if (store::tier_of(now) == tier) {
          std::ranges::sort(now.copies, {},
                            [](const rows::TierCopy& c) { return store::tier_rank(c.tier); });
          auto next = std::ranges::find(now.copies, true, &rows::TierCopy::checked);
          if (may_go && next == now.copies.end()) next = now.copies.begin();
          if (next == now.copies.end()) return store::refused(std::string(store::kRowChanged));
          now.extents = next->extents;
          now.tier = next->tier;
          now.copies.erase(next);
        } else {
          std::erase_if(now.copies, [&](const rows::TierCopy& copy) { return copy.tier == tier; });
        }
        // If it was removed from the tier of its class, it now belongs to the class that the rule
        // wants, or to the tier that it is in.
        if (store::tier_of_class(now.storage_class) != tier) return {};
        now.storage_class =
            member.wanted_class.empty() ? store::class_of_tier(now.tier) : member.wanted_class;
        return {};
      });
  if (!done) return std::unexpected(done.error());
  return {};
}

Result<LifecycleOutcome> TierPlaces::act(const LifecycleAction& action) {
  if (!items_.contains(action.item)) {
    return stays({"NoSuchKey", "the last listing of the tiers does not contain it", {}});
  }
  if (auto there = check_needs(action); !there) return stays(there.error());
  auto done = action.kind == LifecycleActionKind::verify ? verify(action)
              : action.kind == LifecycleActionKind::copy ? copy(action)
                                                         : remove(action);
  if (!done) return stays(done.error());
  return std::move(*done);
}

}  // namespace orrery::upkeep
