#include "model/design_text/profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/design/catalog_fixture.h"
#include "model/design/goals.h"
#include "model/design_text/edit.h"
#include "model/design_text/read_design.h"
#include "model/design_text/said_fixture.h"
#include "model/design_text/write_design.h"

namespace orrery::design_text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Json = nlohmann::json;

std::string text_with(const std::string& entry) {
  return "orrery: 1\nname: a\nsite: { region: usa }\n"
         "fleet: [{ name: f, node: dgx-h100, count: 2 }]\nstorage:\n  - " +
         entry + "\n";
}

design::StorageTier read_tier(const std::string& entry) {
  const auto read = read_design(text_with(entry), design::catalog());
  EXPECT_TRUE(read) << (read ? "" : to_text(read.error()));
  return read ? read->storage.at(0) : design::StorageTier{};
}

TEST(Profiles, profile_fills_what_the_entry_leaves_open) {
  const design::StorageTier t = read_tier("{ profile: archive }");
  EXPECT_EQ(t.tier, design::Tier::cold);
  EXPECT_EQ(t.kind, design::TierKind::object);
  EXPECT_EQ(t.device, "hdd-hamr32");
  EXPECT_EQ(t.protection, (design::Protection{.data = 17, .parity = 3}));
  EXPECT_TRUE(t.encrypted);
  EXPECT_EQ(t.label(), "cold");
  EXPECT_EQ(profile_text(t, design::catalog()), "archive");
}

TEST(Profiles, given_fields_override_the_profile) {
  const design::StorageTier t = read_tier(
      "{ profile: archive, encrypted: false, device: hdd-cmr24, protection: { data: 8, parity: 3 },"
      " server_network: 12.5 GB/s }");
  EXPECT_FALSE(t.encrypted);
  EXPECT_EQ(t.device, "hdd-cmr24");
  EXPECT_EQ(t.protection->data, 8);
  // 100 Gb/s written differently is no difference.
  EXPECT_EQ(profile_text(t, design::catalog()),
            "archive, except for device, protection, encrypted");
}

// A default that is written stays written: otherwise the profile's value would return.
TEST(Profiles, profiles_survive_writing_and_reading) {
  for (const char* entry : {"{ profile: archive, encrypted: false, versioned: false }",
                            "{ profile: live-training, policy: lru, metadata: {}, name: mine }",
                            "{ profile: kv-cache, servers: 3, capacity: 1 PB }"}) {
    const auto first = read_design(text_with(entry), design::catalog());
    ASSERT_TRUE(first);
    const std::string written = write_design(*first);
    const auto again = read_design(written, design::catalog());
    ASSERT_TRUE(again) << written << to_text(again.error());
    EXPECT_EQ(*again, *first) << written;
    EXPECT_EQ(write_design(*again), written);
  }
}

// An edit of a field that the profile sets goes into the entry; the profile stays.
TEST(Profiles, edit_overrides_the_profile) {
  const auto edited = edit_text(text_with("{ profile: archive }"),
                                {"storage[0].devices_per_server", "36"}, design::catalog());
  ASSERT_TRUE(edited);
  const auto read = read_design(edited->text, design::catalog());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->storage[0].devices_per_server, 36);
  EXPECT_EQ(read->storage[0].profile, "archive");
}

TEST(Profiles, unknown_profile_is_refused_with_a_suggestion) {
  const auto read = read_design(text_with("{ profile: archve }"), design::catalog());
  ASSERT_FALSE(read);
  ASSERT_EQ(read.error().size(), 1U) << "and nothing else";
  EXPECT_EQ(read.error()[0].code, "design.unknown-part");
  EXPECT_NE(to_text(read.error()).find("archive"), std::string::npos);
}

// A profile that sets an entry's name or place is ignored in that.
TEST(Profiles, profile_leaves_name_and_place_to_the_entry) {
  catalog::Catalog c;
  c.storage_profiles = {
      {.id = "p", .settings = "{ tier: warm, name: stolen, site: x, servers: 3, caches: y }"}};
  Diagnostics faults;
  const auto entry = parse_yaml("{ profile: p, servers: 5 }", "f", faults);
  ASSERT_TRUE(entry);
  const YamlNode whole = with_profile(*entry, c);
  std::vector<std::string> keys;
  for (const YamlNode::Key& key : whole.keys) keys.push_back(key.text);
  EXPECT_THAT(keys, ElementsAre("profile", "servers", "tier"));
  EXPECT_EQ(whole.items[1].text, "5");
  EXPECT_EQ(whole.items[2].text, "warm");
  EXPECT_EQ(whole.items[2].mark.line, 1);
  EXPECT_EQ(whole.items[2].mark.column, 12) << "the place of the profile's name";
}

}  // namespace
}  // namespace orrery::design_text
