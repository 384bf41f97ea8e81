#include "live/upkeep/lifecycle.h"

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3/hash.h"
#include "live/store/storage_class.h"

namespace orrery::upkeep {
namespace {

constexpr std::size_t kRulesMax = 1000;
constexpr std::size_t kIdBytesMax = 255;
constexpr std::int64_t kDaysMax = 0x7fffffff;  // the largest number that S3 documents allow (32
                                               // bits)

store::Answer<std::optional<std::int64_t>> days_of(const s3::XmlElement& from,
                                                   std::string_view name) {
  if (!from.child(name)) return std::nullopt;
  const auto days = parse_integer(from.text_of(name));
  if (!days) return store::refused("MalformedXML");
  if (*days <= 0 || *days > kDaysMax) {
    return store::refused("InvalidArgument",
                          "'" + std::string(name) + "' must be 1 to 2147483647.");
  }
  return *days;
}

store::Answer<std::optional<rows::TimeMs>> date_of(const s3::XmlElement& from) {
  if (!from.child("Date")) return std::nullopt;
  const auto date = store::moment_of_iso(from.text_of("Date"));
  if (!date || *date % store::kDayMs != 0)
    return store::refused("MalformedXML", "A date must be midnight UTC in ISO 8601 format.");
  return *date;
}

// Ignoring an unknown element would apply the rule to more objects than its author meant.
store::Answer<void> read_filter(const s3::XmlElement& from, LifecycleRule& rule) {
  for (const s3::XmlElement& part : from.children) {
    if (part.name == "And") {
      if (auto good = read_filter(part, rule); !good) return good;
    } else if (part.name == "Prefix") {
      rule.prefix = part.text;
    } else if (part.name == "Tag") {
      rule.tags.emplace_back(std::string(part.text_of("Key")), std::string(part.text_of("Value")));
    } else if (part.name == "ObjectSizeGreaterThan" || part.name == "ObjectSizeLessThan") {
      const auto bytes = parse_integer(part.text);
      if (!bytes || *bytes < 0) return store::refused("MalformedXML");
      if (part.name == "ObjectSizeLessThan") {
        rule.smaller_than = static_cast<std::uint64_t>(*bytes);
      } else {
        rule.larger_than = static_cast<std::uint64_t>(*bytes);
      }
    } else {
      return store::refused("MalformedXML", "A filter cannot contain '" + part.name + "'.");
    }
  }
  return {};
}

store::Answer<void> read_expiration(const s3::XmlElement& from, LifecycleRule& rule) {
  const auto days = days_of(from, "Days");
  if (!days) return std::unexpected(days.error());
  const auto date = date_of(from);
  if (!date) return std::unexpected(date.error());
  const std::string_view lone = from.text_of("ExpiredObjectDeleteMarker");
  if ((*days ? 1 : 0) + (*date ? 1 : 0) + (lone.empty() ? 0 : 1) != 1)
    return store::refused("MalformedXML");
  rule.expire_days = *days;
  rule.expire_at = *date;
  rule.expire_lone_markers = lone == "true";
  return {};
}

store::Answer<void> read_noncurrent(const s3::XmlElement& from, LifecycleRule& rule) {
  const auto days = days_of(from, "NoncurrentDays");
  if (!days) return std::unexpected(days.error());
  if (!*days) return store::refused("MalformedXML");
  rule.noncurrent_days = *days;
  const auto kept = days_of(from, "NewerNoncurrentVersions");
  if (!kept) return std::unexpected(kept.error());
  rule.noncurrent_kept = static_cast<std::size_t>(kept->value_or(0));
  return {};
}

store::Answer<void> read_transition(const s3::XmlElement& from, std::string_view name,
                                    std::vector<Transition>& to) {
  Transition transition{.storage_class = std::string(from.text_of("StorageClass"))};
  const auto date = date_of(from);
  if (!date) return std::unexpected(date.error());
  transition.at = *date;
  if (from.child(name)) {
    transition.days = parse_integer(from.text_of(name));
    if (!transition.days) return store::refused("MalformedXML");
    if (*transition.days < 0 || *transition.days > kDaysMax) {
      return store::refused("InvalidArgument",
                            "'" + std::string(name) + "' must be 0 to 2147483647.");
    }
  }
  if (transition.days.has_value() == transition.at.has_value())
    return store::refused("MalformedXML");
  if (transition.storage_class.empty() || !store::tier_of_class(transition.storage_class)) {
    return store::refused("InvalidStorageClass");
  }
  to.push_back(std::move(transition));
  return {};
}

store::Answer<void> read_action(const s3::XmlElement& part, LifecycleRule& rule) {
  if (part.name == "Expiration") return read_expiration(part, rule);
  if (part.name == "NoncurrentVersionExpiration") return read_noncurrent(part, rule);
  if (part.name == "AbortIncompleteMultipartUpload") {
    const auto days = days_of(part, "DaysAfterInitiation");
    if (!days) return std::unexpected(days.error());
    if (!*days) return store::refused("MalformedXML");
    rule.abort_days = *days;
  }
  if (part.name == "Transition") return read_transition(part, "Days", rule.transitions);
  if (part.name == "NoncurrentVersionTransition") {
    return read_transition(part, "NoncurrentDays", rule.noncurrent_transitions);
  }
  constexpr std::string_view kOthers[] = {"ID", "Status", "Filter", "Prefix",
                                          "AbortIncompleteMultipartUpload"};
  if (std::ranges::find(kOthers, part.name) == std::end(kOthers)) {
    return store::refused("MalformedXML", "A rule cannot contain '" + part.name + "'.");
  }
  return {};
}

store::Answer<LifecycleRule> rule_of(s3::XmlElement& from) {
  LifecycleRule rule;
  rule.id = from.text_of("ID");
  if (rule.id.size() > kIdBytesMax)
    return store::refused("InvalidArgument", "An ID must have at most 255 bytes.");
  if (rule.id.empty()) {
    std::erase_if(from.children, [](const s3::XmlElement& part) { return part.name == "ID"; });
    rule.id = to_hex(s3::md5(s3::write_xml(from))).substr(0, 24);
    from.children.insert(from.children.begin(), s3::XmlElement{"ID", rule.id, {}});
  }
  const std::string_view status = from.text_of("Status");
  if (status != "Enabled" && status != "Disabled") return store::refused("MalformedXML");
  rule.enabled = status == "Enabled";
  const s3::XmlElement* filter = from.child("Filter");
  const s3::XmlElement plain{"", "", {{"Prefix", std::string(from.text_of("Prefix")), {}}}};
  if (auto good = read_filter(filter ? *filter : plain, rule); !good) {
    return std::unexpected(good.error());
  }
  for (const s3::XmlElement& part : from.children) {
    if (auto good = read_action(part, rule); !good) return std::unexpected(good.error());
  }
  const bool acts = rule.expire_days || rule.expire_at || rule.expire_lone_markers ||
                    rule.noncurrent_days || rule.abort_days || !rule.transitions.empty() ||
                    !rule.noncurrent_transitions.empty();
  if (!acts) return store::refused("MalformedXML", "A rule must have at least one action.");
  return rule;
}

bool due(rows::TimeMs from, const std::optional<std::int64_t>& days, rows::TimeMs now,
         rows::TimeMs day_ms) {
  return days && now >= end_of(from, *days, day_ms);
}

}  // namespace

store::Answer<Lifecycle> lifecycle_of(std::string_view xml) {
  auto document = s3::read_xml(xml);
  const bool named = document && (document->name == "LifecycleConfiguration" ||
                                  document->name == "BucketLifecycleConfiguration");
  if (!named) return store::refused("MalformedXML");
  Lifecycle to{.document = std::move(*document), .rules = {}};
  to.document.name = "LifecycleConfiguration";
  std::set<std::string> ids;
  for (s3::XmlElement& child : to.document.children) {
    if (child.name != "Rule") return store::refused("MalformedXML");
    auto rule = rule_of(child);
    if (!rule) return std::unexpected(rule.error());
    if (!ids.insert(rule->id).second)
      return store::refused("InvalidArgument", "Two rules have the same ID.");
    to.rules.push_back(std::move(*rule));
  }
  if (to.rules.empty() || to.rules.size() > kRulesMax) return store::refused("MalformedXML");
  return to;
}

bool applies(const LifecycleRule& rule, std::string_view key, const rows::Version& version) {
  if (!rule.enabled || !key.starts_with(rule.prefix)) return false;
  if (!version.marker && version.size <= rule.larger_than && rule.larger_than > 0) return false;
  if (rule.smaller_than && version.size >= *rule.smaller_than) return false;
  return std::ranges::all_of(rule.tags, [&](const auto& tag) {
    return std::ranges::find(version.tags, tag) != version.tags.end();
  });
}

rows::TimeMs end_of(rows::TimeMs from, std::int64_t days, rows::TimeMs day_ms) {
  // On overflow: a time later than any clock shows, not one in the past.
  constexpr rows::TimeMs kNever = std::numeric_limits<rows::TimeMs>::max() / 2;
  const rows::TimeMs most = kNever - std::max<rows::TimeMs>(from, 0);
  const rows::TimeMs end =
      days > most / std::max<rows::TimeMs>(day_ms, 1) ? kNever : from + days * day_ms;
  if (day_ms != store::kDayMs) return end;
  return (end + store::kDayMs - 1) / store::kDayMs * store::kDayMs;
}

Ending ending_of(const std::vector<LifecycleRule>& rules, std::string_view key,
                 const VersionPlace& place, rows::TimeMs now, rows::TimeMs day_ms) {
  for (const LifecycleRule& rule : rules) {
    if (!applies(rule, key, place.version)) continue;
    if (!place.newest) {
      const bool gone = place.newer >= rule.noncurrent_kept &&
                        due(place.since_ms, rule.noncurrent_days, now, day_ms);
      if (gone) return Ending::removed;
      continue;
    }
    if (place.version.marker) {
      // A delete marker without versions below it is left over from expiry.
      const bool aged =
          rule.expire_lone_markers || due(place.version.modified_ms, rule.expire_days, now, day_ms);
      if (place.alone && aged) return Ending::removed;
      continue;
    }
    if (due(place.version.modified_ms, rule.expire_days, now, day_ms)) return Ending::expires;
    if (rule.expire_at && now >= *rule.expire_at) return Ending::expires;
  }
  return Ending::stays;
}

std::optional<std::string> class_wanted(const std::vector<LifecycleRule>& rules,
                                        std::string_view key, const VersionPlace& place,
                                        rows::TimeMs now, rows::TimeMs day_ms) {
  if (place.version.marker) return std::nullopt;
  std::optional<std::string> wanted;
  int rank = store::tier_rank(store::tier_of_class(place.version.storage_class).value_or("hot"));
  for (const LifecycleRule& rule : rules) {
    if (!applies(rule, key, place.version)) continue;
    for (const Transition& to : place.newest ? rule.transitions : rule.noncurrent_transitions) {
      const rows::TimeMs from = place.newest ? place.version.modified_ms : place.since_ms;
      const bool is_due = to.at ? now >= *to.at : due(from, to.days, now, day_ms);
      const int there = store::tier_rank(*store::tier_of_class(to.storage_class));
      if (!is_due || there <= rank) continue;  // if several rules apply, the slowest class wins
      wanted = to.storage_class;
      rank = there;
    }
  }
  return wanted;
}

bool upload_ends(const std::vector<LifecycleRule>& rules, const rows::Upload& upload,
                 rows::TimeMs now, rows::TimeMs day_ms) {
  return std::ranges::any_of(rules, [&](const LifecycleRule& rule) {
    return rule.enabled && upload.key.starts_with(rule.prefix) && rule.tags.empty() &&
           due(upload.started_ms, rule.abort_days, now, day_ms);
  });
}

}  // namespace orrery::upkeep
