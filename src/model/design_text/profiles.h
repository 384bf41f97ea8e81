// Storage profiles: named sets of fields for a tier that suits a kind of work.
//
//   - { profile: checkpoint-burst, read: 200 GB/s }
// A profile is a row of data/catalog/storage_profiles.csv that gives fields of a `storage` entry as
// the file would. An entry that names one has those values wherever it does not write the field
// itself; a section such as `metadata` is taken whole from one or the other. Name, place and
// provider of the tier are never taken from a profile (set_by_profiles).
//
// The profile is merged into the entry when the file is read, so every reader of a Design sees
// plain values; profile_fields tells the two sources apart again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/design/tiers.h"
#include "model/design_text/yaml_tree.h"

namespace orrery::design_text {

bool set_by_profiles(std::string_view key);

// Returns the entry with its profile's settings added after its own; unchanged if it names no
// profile.
YamlNode with_profile(YamlNode entry, const catalog::Catalog& catalog);

struct ProfileField {
  std::string key;
  std::string value;    // as in the tier
  std::string profile;  // as in its profile
  bool followed() const { return value == profile; }
};
// Returns what the tier's profile sets, in the order of the table of fields; empty without a
// profile.
std::vector<ProfileField> profile_fields(const design::StorageTier& tier,
                                         const catalog::Catalog& catalog);
// "checkpoint-burst", or "checkpoint-burst, except for device and servers".
std::string profile_text(const design::StorageTier& tier, const catalog::Catalog& catalog);

}  // namespace orrery::design_text
