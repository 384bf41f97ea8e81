// One policy, two drivers: the same history of checkpoints on simulated places and in the object
// store results in the same moves, in the same order, and the same final state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/random.h"
#include "layers/storage/lifecycle_driver.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/tier_places.h"
#include "study/rehearse/simulated_places.h"

namespace orrery {
namespace {

using storage::LifecycleDriver;
using storage::LifecyclePolicy;

constexpr rows::TimeMs kStart = 1'700'000'000'000;
constexpr std::size_t kBytes = 1000;

Result<void> keep_nothing(const std::vector<storage::LifecycleEvent>&) { return {}; }

std::string item_of(int step) { return "pail/run@" + std::to_string(step); }

class BothDrivers {
 public:
  explicit BothDrivers(const LifecyclePolicy& policy)
      : twin_({"hot", "warm", "cold"}), twin_driver_(twin_, keep_nothing, policy, {}) {
    for (const std::string name : {"hot", "warm", "cold"}) {
      drives_.push_back(std::make_unique<drives::SimulatedDrive>());
      tiers_.push_back({name, {1, 0}, {name}});
      set_[name] = drives_.back().get();
    }
    store_ = std::make_unique<store::Store>(
        store::StoreSetting{.metadata = metadata_,
                            .drives = set_,
                            .tiers = tiers_,
                            .now_ms = [this] { return now_; },
                            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }});
    EXPECT_TRUE(store_->open());
    EXPECT_TRUE(store_->make_bucket({.name = "pail", .owner = "main"}));
    places_ = std::make_unique<upkeep::TierPlaces>(*store_,
                                                   upkeep::MoveSetting{.keeps_checkpoints = true});
    store_driver_ = std::make_unique<LifecycleDriver>(*places_, keep_nothing, policy,
                                                      storage::LifecycleMemory{});
  }

  void save(int step, bool milestone) {
    twin_.begin("hot", item_of(step),
                {.run = "pail/run",
                 .step = step,
                 .made = seconds(static_cast<double>(now_) / 1000),
                 .size = bytes(kBytes),
                 .milestone = milestone});
    twin_.finish("hot", item_of(step));
    const std::string content(kBytes, static_cast<char>('a' + step % 26));
    store::BlobWriter writer = store_->writer("hot");
    ASSERT_TRUE(writer.append(content));
    const auto blob = writer.finish();
    rows::Version fresh{.size = kBytes, .etag = to_hex(s3::md5(content))};
    fresh.tags = {{"orrery-role", milestone ? "milestone" : "checkpoint"},
                  {"orrery-run", "run"},
                  {"orrery-step", std::to_string(step)}};
    fresh.extents = {{blob->id, kBytes, fresh.etag, ""}};
    ASSERT_TRUE(store_->put("pail", "ckpt/" + std::to_string(step), fresh, {*blob}));
  }

  // Returns what each of the two drivers did.
  std::pair<std::vector<std::string>, std::vector<std::string>> tick() {
    return {said(twin_driver_.tick()), said(store_driver_->tick())};
  }
  void pass(Seconds span) {
    twin_.pass(span);
    now_ += static_cast<rows::TimeMs>(span.base() * 1000);
  }
  bool ends_alike() {
    const auto seen = places_->look();
    std::size_t copies = 0;
    for (const storage::ItemView& item : seen->items) {
      for (const storage::CopyView& copy : item.copies) {
        if (!twin_.is_good_at(copy.place, item.id)) return false;
        ++copies;
      }
    }
    std::size_t in_twin = 0;
    for (const auto& [id, item] : twin_.items()) {
      for (const char* place : {"hot", "warm", "cold"})
        in_twin += twin_.is_good_at(place, id) ? 1 : 0;
    }
    return copies == in_twin && upkeep::check_store(*store_, true)->clean();
  }

 private:
  static std::vector<std::string> said(const Result<storage::LifecycleTick>& tick) {
    std::vector<std::string> out;
    if (!tick) return {"failed"};
    for (const storage::LifecycleDone& done : tick->done) {
      out.push_back(done.action.key +
                    (done.action.from.empty() ? "" : " from " + done.action.from) +
                    (done.good ? "" : " failed"));
    }
    return out;
  }

  rows::TimeMs now_ = kStart;
  rehearse::SimulatedPlaces twin_;
  LifecycleDriver twin_driver_;
  rows::MemoryMetadata metadata_;
  std::vector<std::unique_ptr<drives::SimulatedDrive>> drives_;
  std::vector<store::Tier> tiers_;
  store::DriveSet set_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<upkeep::TierPlaces> places_;
  std::unique_ptr<LifecycleDriver> store_driver_;
};

LifecyclePolicy draw_policy(RandomStream& random) {
  LifecyclePolicy policy{.places = {{.name = "hot"}, {.name = "warm"}, {.name = "cold"}}};
  policy.places[0].keep.newest = 1 + static_cast<int>(random.below(3));
  if (random.below(2) == 0) {
    policy.places[1].keep.window = minutes(30);
    policy.places[1].keep.spacing = minutes(10);
  }
  policy.places[2].keep.milestones = true;
  if (random.below(2) == 0) policy.places[2].keep.milestone_every = 4;
  if (random.below(2) == 0) policy.places[2].pace = BytesPerSecond(10);
  if (random.below(3) == 0) policy.places[1].opens = hours(20), policy.places[1].closes = hours(23);
  return policy;
}

TEST(LifecycleDrivers, the_twin_and_the_store_make_the_same_moves) {
  std::size_t moves = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomStream random(seed, "drivers");
    BothDrivers both(draw_policy(random));
    int step = 0;
    for (int round = 0; round < 80; ++round) {
      if (random.below(3) == 0) both.save(++step, random.below(5) == 0);
      const auto [twin, store] = both.tick();
      ASSERT_EQ(twin, store) << "seed " << seed << ", round " << round;
      moves += twin.size();
      both.pass(seconds(1 + static_cast<double>(random.below(300))));
    }
    ASSERT_TRUE(both.ends_alike()) << "seed " << seed;
  }
  EXPECT_GT(moves, 1000u);
  RecordProperty("moves", static_cast<int>(moves));
}

}  // namespace
}  // namespace orrery
