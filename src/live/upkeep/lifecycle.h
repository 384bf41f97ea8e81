// The lifecycle rules of a bucket: what they end, and when, as pure functions.
//
// The rules are S3's ("Managing the lifecycle of objects"): a filter (prefix, tags, size), and
// after so many days the newest version ends (with versioning: a delete marker is put), versions
// before it go, markers that stand alone go, uploads left open are aborted. A day is 24 hours and
// an end falls on the midnight after; where a day is shortened, for tests, it falls on the moment.
// Rules that move (Transition, NoncurrentVersionTransition) say which tier an object should lie in;
// tier_places.h brings it there. An object never moves to a faster tier by a rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "live/s3/xml.h"
#include "live/store/moment.h"
#include "live/store/refusal.h"

namespace orrery::upkeep {

// To a storage class after so many days (from the day it was made, or became noncurrent), or on a
// date.
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
  std::size_t noncurrent_kept = 0;  // so many of the newest of them stay
  std::optional<std::int64_t> abort_days = {};
  std::vector<Transition> transitions = {};
  std::vector<Transition> noncurrent_transitions = {};
};

// The document, with an id for every rule that has none; and what it says.
struct Lifecycle {
  s3::XmlElement document;
  std::vector<LifecycleRule> rules;
};
store::Answer<Lifecycle> lifecycle_of(std::string_view xml);

bool applies(const LifecycleRule& rule, std::string_view key, const rows::Version& version);
// When what was made (or became noncurrent) at `from` ends after `days`.
rows::TimeMs end_of(rows::TimeMs from, std::int64_t days, rows::TimeMs day_ms);

struct VersionPlace {
  rows::Version version;
  bool newest = true;
  rows::TimeMs since_ms = 0;  // when it became noncurrent
  std::size_t newer = 0;      // noncurrent versions before it
  bool alone = false;         // the only version of its key
};
enum class Ending { stays, expires, removed };
// What the rules do to this version now.
Ending ending_of(const std::vector<LifecycleRule>& rules, std::string_view key,
                 const VersionPlace& place, rows::TimeMs now, rows::TimeMs day_ms);
// The storage class that the rules want the version in by now; nullopt: the one it has.
std::optional<std::string> class_wanted(const std::vector<LifecycleRule>& rules,
                                        std::string_view key, const VersionPlace& place,
                                        rows::TimeMs now, rows::TimeMs day_ms);
bool upload_ends(const std::vector<LifecycleRule>& rules, const rows::Upload& upload,
                 rows::TimeMs now, rows::TimeMs day_ms);

}  // namespace orrery::upkeep
