#include "model/design_text/profiles.h"

#include <algorithm>

#include "core/base/text.h"
#include "model/design_text/section_reader.h"
#include "model/design_text/write_design.h"
#include "model/design_text/write_value.h"

namespace orrery::design_text {
namespace {

// Moves the marks to where the profile is named, so that complaints about its values are shown
// there.
void move_to(YamlNode& node, design::Mark mark) {
  node.mark = mark;
  for (YamlNode::Key& key : node.keys) key.mark = mark;
  for (YamlNode& item : node.items) move_to(item, mark);
}

const YamlNode* value_of(const YamlNode& map, std::string_view key) {
  const auto found = std::ranges::find(map.keys, key, &YamlNode::Key::text);
  return found == map.keys.end() ? nullptr
                                 : &map.items[static_cast<std::size_t>(found - map.keys.begin())];
}

}  // namespace

bool set_by_profiles(std::string_view key) {
  constexpr std::string_view kOwn[] = {"name", "profile", "site", "region", "provider", "caches"};
  return std::ranges::find(kOwn, key) == std::end(kOwn);
}

YamlNode with_profile(YamlNode entry, const catalog::Catalog& catalog) {
  const YamlNode* named = entry.kind == YamlNode::Kind::map ? value_of(entry, "profile") : nullptr;
  if (named == nullptr || named->text.empty() || catalog.storage_profiles.empty()) return entry;
  // An unknown profile is refused where it is named. The fields that it would set are no further
  // faults, so any other profile is used in its place.
  const catalog::StorageProfile* profile = catalog.storage_profile(named->text);
  if (profile == nullptr) profile = &catalog.storage_profiles.front();
  const design::Mark mark = named->mark;
  Diagnostics faults;
  auto settings = parse_yaml(profile->settings, profile->id, faults);
  if (!settings) return entry;
  for (std::size_t i = 0; i < settings->keys.size(); ++i) {
    const std::string& key = settings->keys[i].text;
    if (!set_by_profiles(key) || value_of(entry, key) != nullptr) continue;
    move_to(settings->items[i], mark);
    entry.keys.push_back({key, mark});
    entry.items.push_back(std::move(settings->items[i]));
  }
  return entry;
}

std::vector<ProfileField> profile_fields(const design::StorageTier& tier,
                                         const catalog::Catalog& catalog) {
  const catalog::StorageProfile* profile = catalog.storage_profile(tier.profile);
  if (profile == nullptr) return {};
  Diagnostics faults;
  const auto settings = parse_yaml(profile->settings, profile->id, faults);
  if (!settings) return {};
  // Reads the profile's value like the file's, so that 400 Gb/s and 50 GB/s are equal.
  design::PlaceMap places;
  ValueReader values(catalog, profile->id, faults);
  ReadContext context{values, places};
  design::StorageTier plain;
  SectionReader reader(context, *settings, "", profile->id);
  design::visit_fields(reader, plain);
  const YamlNode own = tier_node(tier);
  const YamlNode set = tier_node(plain);
  std::vector<ProfileField> fields;
  for (std::size_t i = 0; i < set.keys.size(); ++i) {
    const std::string& key = set.keys[i].text;
    if (value_of(*settings, key) == nullptr) continue;
    const YamlNode* value = value_of(own, key);
    fields.push_back({.key = key,
                      .value = value ? yaml_line(*value) : std::string(),
                      .profile = yaml_line(set.items[i])});
  }
  return fields;
}

std::string profile_text(const design::StorageTier& tier, const catalog::Catalog& catalog) {
  std::vector<std::string_view> own;
  const std::vector<ProfileField> fields = profile_fields(tier, catalog);
  for (const ProfileField& f : fields) {
    if (!f.followed()) own.push_back(f.key);
  }
  return own.empty() ? tier.profile : tier.profile + ", except for " + listed(own);
}

}  // namespace orrery::design_text
