// The lifecycle rules of a bucket: what they remove or move, and when, as pure functions.
//
// The rules are those of S3 ("Managing the lifecycle of objects"): a filter (prefix, tags, size),
// and actions after a number of days. The newest version expires (with versioning: a delete marker
// is added), noncurrent versions are removed, lone delete markers are removed, and open uploads are
// aborted. A day is 24 hours and an action is due at the following midnight; if a test shortens the
// day, it is due at the exact time. Rules that move (Transition, NoncurrentVersionTransition) say
// which tier an object belongs to; tier_places.h moves it. A rule never moves an object to a faster
// tier.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "live/s3/xml.h"
#include "live/store/moment.h"
#include "live/store/refusal.h"

namespace orrery::upkeep {

// A move to a storage class after `days` (since the version was created, or became noncurrent) or
// on a date.
struct Transition {
  std::optional<std::int64_t> days = {};
  std::optional<rows::TimeMs> at = {};
  std::string storage_class = {};
};

struct LifecycleRule {
  std::string id;
  bool enabled = true;
  std::string prefix = {};
  rows::HeaderList tags = {};
  std::uint64_t larger_than = 0;
  std::optional<std::uint64_t> smaller_than = {};
  std::optional<std::int64_t> expire_days = {};
  std::optional<rows::TimeMs> expire_at = {};
  bool expire_lone_markers = false;
  std::optional<std::int64_t> noncurrent_days = {};
  std::size_t noncurrent_kept = 0;  // number of newest noncurrent versions that are kept
  std::optional<std::int64_t> abort_days = {};
  std::vector<Transition> transitions = {};
  std::vector<Transition> noncurrent_transitions = {};
};

// The document, in which every rule without an id gets one, and its rules.
struct Lifecycle {
  s3::XmlElement document;
  std::vector<LifecycleRule> rules;
};
store::Answer<Lifecycle> lifecycle_of(std::string_view xml);

bool applies(const LifecycleRule& rule, std::string_view key, const rows::Version& version);
// Returns when a version that was created (or became noncurrent) at `from` is due after `days`.
rows::TimeMs end_of(rows::TimeMs from, std::int64_t days, rows::TimeMs day_ms);

struct VersionPlace {
  rows::Version version;
  bool newest = true;
  rows::TimeMs since_ms = 0;  // time at which it became noncurrent
  std::size_t newer = 0;      // number of newer noncurrent versions
  bool alone = false;         // it is the only version of its key
};
enum class Ending { stays, expires, removed };
// Returns what the rules do with this version now.
Ending ending_of(const std::vector<LifecycleRule>& rules, std::string_view key,
                 const VersionPlace& place, rows::TimeMs now, rows::TimeMs day_ms);
// Returns the storage class that the rules want for the version now; nullopt: no change.
std::optional<std::string> class_wanted(const std::vector<LifecycleRule>& rules,
                                        std::string_view key, const VersionPlace& place,
                                        rows::TimeMs now, rows::TimeMs day_ms);
bool upload_ends(const std::vector<LifecycleRule>& rules, const rows::Upload& upload,
                 rows::TimeMs now, rows::TimeMs day_ms);

}  // namespace orrery::upkeep
