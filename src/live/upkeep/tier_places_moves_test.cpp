// Objects moved between tiers by the lifecycle driver: where rules put them, that readers do not
// notice it, and what brings them back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "layers/storage/lifecycle_driver.h"
#include "live/drives/erasure.h"
#include "live/s3/hash.h"
#include "live/store/storage_class.h"
#include "live/upkeep/check.h"
#include "live/upkeep/quick_etag.h"
#include "live/upkeep/tier_places.h"
#include "live/upkeep/tier_places_fixture.h"

namespace orrery::upkeep::tier_places_moves_tests {
namespace {

using testing::ElementsAre;

constexpr rows::TimeMs kDay = 1000;

std::string rule_to(const std::string& storage_class, int days) {
  return "<LifecycleConfiguration><Rule><Filter><Prefix>old/</Prefix></Filter><Status>Enabled"
         "</Status><Transition><Days>" +
         std::to_string(days) + "</Days><StorageClass>" + storage_class +
         "</StorageClass></Transition></Rule></LifecycleConfiguration>";
}

class TierMoves : public TierBench {
 protected:
  void put(const std::string& key, const std::string& bytes, rows::HeaderList tags = {},
           const std::string& storage_class = {}, const std::string& etag = {}) {
    const rows::Blob blob = written(bytes, store::tier_of_class(storage_class).value());
    rows::Version fresh{.size = bytes.size(), .etag = etag.empty() ? to_hex(s3::md5(bytes)) : etag};
    fresh.storage_class = storage_class;
    fresh.tags = std::move(tags);
    fresh.extents = {{blob.id, bytes.size(), fresh.etag, ""}};
    ASSERT_TRUE(store->put("pail", key, fresh, {blob}));
  }

  // Returns what was done in `rounds` rounds, a second apart.
  std::vector<std::string> run(int rounds, MoveSetting setting, storage::LifecyclePolicy policy) {
    std::vector<std::string> said;
    TierPlaces places(*store, std::move(setting));
    storage::LifecycleDriver driver(places, [](const auto&) -> Result<void> { return {}; },
                                    std::move(policy), {});
    for (int i = 0; i < rounds; ++i) {
      const auto tick = driver.tick();
      if (!tick) {
        ADD_FAILURE() << tick.error().front().what;
        return said;
      }
      for (const auto& done : tick->done) {
        said.push_back(std::string(word_of(done.action.kind)) + ' ' + done.action.place +
                       (done.good ? "" : " failed"));
      }
      now += 1000;
    }
    return said;
  }
  std::vector<std::string> run(int rounds, MoveSetting setting = {.day_ms = kDay}) {
    return run(rounds, std::move(setting), {.places = places_of(tiers)});
  }
};

TEST_F(TierMoves, a_rule_moves_by_copying_verifying_and_removing) {
  set_rules(rule_to("GLACIER", 5));
  put("old/a", "some bytes");
  put("new/a", "other bytes");
  EXPECT_THAT(run(3), ElementsAre());
  now += 5 * kDay;
  EXPECT_THAT(run(6), ElementsAre("verify hot", "copy cold", "verify cold", "remove hot"));
  EXPECT_THAT(tiers_of("old/a"), ElementsAre("cold"));
  EXPECT_THAT(tiers_of("new/a"), ElementsAre("hot"));
  EXPECT_EQ(store->find("pail", "old/a", std::nullopt)->storage_class, "GLACIER");
  EXPECT_EQ(get("old/a"), "some bytes");
  ASSERT_TRUE(store->collect());
  EXPECT_TRUE(check_store(*store, true)->clean());
}

TEST_F(TierMoves, a_reader_continues_while_its_object_moves) {
  set_rules(rule_to("STANDARD_IA", 0));
  const std::string bytes(3 * store::kBlockBytes, 'r');
  put("old/a", bytes);
  auto object = store->open_object("pail", "old/a", std::nullopt,
                                   [](const rows::Version&) -> store::Answer<void> { return {}; });
  ASSERT_TRUE(object);
  std::string got(bytes.size(), ' ');
  ASSERT_TRUE(object->reader->read(0, std::span(got).first(100)));
  run(6);
  ASSERT_TRUE(store->collect());
  EXPECT_THAT(tiers_of("old/a"), ElementsAre("warm"));
  ASSERT_TRUE(object->reader->read(0, got));
  EXPECT_EQ(got, bytes);
}

TEST_F(TierMoves, a_damaged_copy_is_made_again_before_the_original_is_removed) {
  set_rules(rule_to("GLACIER", 0));
  put("old/a", "some bytes");
  EXPECT_THAT(run(2), ElementsAre("verify hot", "copy cold"));
  for (const auto& [name, content] : drives["cold"].files()) content->bytes[70] ^= 1;
  now += 60'000;
  const auto said = run(20);
  EXPECT_THAT(tiers_of("old/a"), ElementsAre("cold"));
  EXPECT_EQ(get("old/a"), "some bytes");
  EXPECT_EQ(std::ranges::count(said, "copy cold"), 1);
}

TEST_F(TierMoves, a_large_object_is_verified_by_the_crc_in_its_etag) {
  set_rules(rule_to("GLACIER", 0));
  const std::string bytes = "bytes without an MD5";
  put("old/a", bytes, {}, "STANDARD", quick_etag(drives::content_crc(bytes), "b"));
  put("old/wrong", bytes, {}, "STANDARD", quick_etag(drives::content_crc("others"), "b"));
  run(8);
  EXPECT_THAT(tiers_of("old/a"), ElementsAre("cold"));
  EXPECT_EQ(get("old/a"), bytes);
  EXPECT_EQ(tiers_of("old/wrong").front(), "hot");  // an object whose bytes have changed is not
                                                    // moved
}

TEST_F(TierMoves, an_object_that_is_read_is_promoted_for_a_while) {
  set_rules("");
  put("a", "some bytes", {}, "GLACIER");
  const MoveSetting setting{.day_ms = kDay, .promote_ms = 10'000};
  EXPECT_THAT(run(3, setting), ElementsAre());
  store->reads().note("pail", "a", "null", now);
  EXPECT_THAT(run(4, setting), ElementsAre("verify cold", "copy hot", "verify hot"));
  EXPECT_THAT(tiers_of("a"), ElementsAre("hot", "cold+"));
  EXPECT_EQ(get("a"), "some bytes");
  now += 10'000;
  EXPECT_THAT(run(4, setting), ElementsAre("verify hot", "verify cold", "remove hot"));
  EXPECT_THAT(tiers_of("a"), ElementsAre("cold"));
  EXPECT_EQ(store->find("pail", "a", std::nullopt)->storage_class, "GLACIER");
}

TEST_F(TierMoves, a_promoted_object_still_follows_its_rule) {
  set_rules(rule_to("GLACIER", 5));
  put("old/a", "some bytes", {}, "STANDARD_IA");
  const MoveSetting setting{.day_ms = kDay, .promote_ms = 60'000};
  store->reads().note("pail", "old/a", "null", now);
  run(4, setting);
  EXPECT_THAT(tiers_of("old/a"), ElementsAre("hot", "warm+"));
  now += 5 * kDay;
  run(10, setting);
  EXPECT_THAT(tiers_of("old/a"), ElementsAre("hot", "cold+"));
  EXPECT_EQ(store->find("pail", "old/a", std::nullopt)->storage_class, "GLACIER");
  now += 60'000;
  run(6, setting);
  EXPECT_THAT(tiers_of("old/a"), ElementsAre("cold"));
  EXPECT_EQ(get("old/a"), "some bytes");
}

TEST_F(TierMoves, a_copy_of_an_object_that_was_replaced_is_dropped) {
  set_rules(rule_to("GLACIER", 0));
  put("old/a", "first");
  TierPlaces places(*store, {.day_ms = kDay});
  storage::LifecycleDriver driver(places, [](const auto&) -> Result<void> { return {}; },
                                  {.places = places_of(tiers)}, {});
  ASSERT_TRUE(driver.tick());
  const auto look = places.look();
  put("old/a", "second");
  const auto done = places.act({.kind = storage::LifecycleActionKind::copy,
                                .item = look->items.front().id,
                                .place = "cold",
                                .from = "hot"});
  EXPECT_FALSE(done);
  EXPECT_EQ(get("old/a"), "second");
  ASSERT_TRUE(store->collect());
  EXPECT_TRUE(check_store(*store, true)->clean());
}

// The two objects of a checkpoint do not form an item until both exist, or the checkpoint is stale.
TEST_F(TierMoves, a_checkpoint_is_seen_once_complete_or_stale) {
  set_rules("");
  TierPlaces places(*store, {.keeps_checkpoints = true, .stale_ms = 5000});
  const rows::HeaderList tags = {{"orrery-run", "r"}, {"orrery-step", "7"}, {"orrery-parts", "2"}};
  const auto seen = [&] {
    const auto look = places.look();
    return look ? look->items : std::vector<storage::ItemView>(99);
  };
  put("ckpt/7/a", "first", tags);
  EXPECT_TRUE(seen().empty());
  now += 4999;
  EXPECT_TRUE(seen().empty());
  now += 1;
  ASSERT_EQ(seen().size(), 1u) << "it never became whole";
  EXPECT_FALSE(seen()[0].copies.at(0).complete);
  put("ckpt/7/b", "second", tags);
  ASSERT_EQ(seen().size(), 1u);
  EXPECT_TRUE(seen()[0].copies.at(0).complete);
  EXPECT_EQ(seen()[0].copies[0].size, bytes(11));
  EXPECT_EQ(seen()[0].step, 7);
}

// An action applies to the object that the look saw: a replaced object is a different one.
TEST_F(TierMoves, an_action_refuses_an_object_that_was_replaced) {
  set_rules(rule_to("GLACIER", 0));
  put("old/a", "first");
  TierPlaces places(*store, {.day_ms = kDay});
  const auto look = places.look();
  ASSERT_TRUE(look && look->items.size() == 1);
  const storage::CopyView copy = look->items[0].copies.at(0);
  const storage::LifecycleAction verify{.kind = storage::LifecycleActionKind::verify,
                                        .item = look->items[0].id,
                                        .place = copy.place,
                                        .stamp = copy.stamp};
  EXPECT_TRUE(places.act(verify));
  put("old/a", "other");
  EXPECT_FALSE(places.act(verify));
  EXPECT_EQ(get("old/a"), "other");
}

TEST_F(TierMoves, checkpoints_are_kept_or_removed_as_a_whole) {
  set_rules("");
  storage::LifecyclePolicy policy{.places = places_of(tiers)};
  policy.places[0].keep.newest = 2;
  policy.places[2].keep.milestones = true;
  const MoveSetting setting{.day_ms = kDay, .keeps_checkpoints = true};
  const auto save = [&](int step, const std::string& role, int parts) {
    for (int part = 0; part < parts; ++part) {
      put("ckpt/" + std::to_string(step) + '/' + std::to_string(part), "bytes " + role,
          {{"orrery-parts", "2"},
           {"orrery-role", role},
           {"orrery-run", "llama"},
           {"orrery-step", std::to_string(step)}});
    }
    now += 10'000;
  };
  save(1, "milestone", 2);
  save(2, "checkpoint", 2);
  save(3, "checkpoint", 2);
  save(4, "checkpoint", 2);
  save(5, "checkpoint", 1);  // its second object does not exist yet
  run(20, setting, policy);
  EXPECT_THAT(tiers_of("ckpt/1/0"), ElementsAre("cold"));
  EXPECT_THAT(tiers_of("ckpt/1/1"), ElementsAre("cold"));
  EXPECT_THAT(tiers_of("ckpt/2/0"), ElementsAre("NoSuchKey"));
  EXPECT_THAT(tiers_of("ckpt/2/1"), ElementsAre("NoSuchKey"));
  EXPECT_THAT(tiers_of("ckpt/3/0"), ElementsAre("hot"));
  EXPECT_THAT(tiers_of("ckpt/4/1"), ElementsAre("hot"));
  EXPECT_THAT(tiers_of("ckpt/5/0"), ElementsAre("hot"));
  EXPECT_TRUE(check_store(*store, true)->clean());
}

}  // namespace
}  // namespace orrery::upkeep::tier_places_moves_tests
