// Storage profiles: a name for a tier that suits a kind of work.
//
//   - { profile: checkpoint-burst, read: 200 GB/s }
// A profile is a row of data/catalog/storage_profiles.csv that says fields of a `storage` entry as
// the file would. An entry that names one has those values wherever it does not write the field
// itself; a section such as `metadata` is taken whole from one or the other. What a tier is called
// and where it stands or comes from is its own to say (set_by_profiles).
//
// The profile is laid under the entry when the file is read, so that all who look at a Design see
// plain values; profile_fields tells them apart again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/catalog/catalog.h"
#include "model/design/tiers.h"
#include "model/design_text/yaml_tree.h"

namespace orrery::design_text {

bool set_by_profiles(std::string_view key);

// The entry with the settings of the profile that it names behind its own; as it is where it names
// none.
YamlNode with_profile(YamlNode entry, const catalog::Catalog& catalog);

struct ProfileField {
  std::string key;
  std::string value;    // as the tier has it
  std::string profile;  // as its profile says
  bool followed() const { return value == profile; }
};
// What the profile of a tier says, in the order of the table of fields; empty without a profile.
std::vector<ProfileField> profile_fields(const design::StorageTier& tier,
                                         const catalog::Catalog& catalog);
// "checkpoint-burst", or "checkpoint-burst, but for device and servers".
std::string profile_text(const design::StorageTier& tier, const catalog::Catalog& catalog);

}  // namespace orrery::design_text
