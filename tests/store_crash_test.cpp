// Every crash of short histories: the power fails at each call of a port in turn, and unsynced data
// is kept, torn or lost. Everything that was acknowledged must be there, complete, and nothing
// else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/digest.h"
#include "layers/storage/lifecycle_driver.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/store/storage_class.h"
#include "live/store/store.h"
#include "live/upkeep/sweep.h"
#include "live/upkeep/tier_places.h"

namespace orrery::upkeep::store_crash_tests {
namespace {

using testing::AnyOf;

std::string text_of_size(char letter, std::size_t bytes) { return std::string(bytes, letter); }

// A machine with drives and metadata that outlive the stores opened on it.
struct Bench {
  drives::Power power;
  rows::MemoryMetadata metadata{&power};
  std::vector<std::unique_ptr<drives::SimulatedDrive>> drives;
  store::Tier tier{"hot", {}, {}};
  store::Tier cold{"cold", {}, {"c0"}};
  rows::TimeMs now = 1'700'000'000'000;
  int randomness = 0;

  explicit Bench(drives::ShardPlan plan, std::size_t held = 0) {
    tier.plan = plan;
    tier.held_bytes_max = held;
    for (int i = 0; i < plan.total(); ++i) {
      drives.push_back(std::make_unique<drives::SimulatedDrive>(&power));
      tier.drives.push_back("d" + std::to_string(i));
    }
    drives.push_back(std::make_unique<drives::SimulatedDrive>(&power));
  }
  std::unique_ptr<store::Store> open() {
    store::DriveSet set;
    for (std::size_t i = 0; i < tier.drives.size(); ++i) set[tier.drives[i]] = drives[i].get();
    set["c0"] = drives.back().get();
    auto store = std::make_unique<store::Store>(
        store::StoreSetting{.metadata = metadata,
                            .drives = set,
                            .tiers = {tier, cold},
                            .now_ms = [this] { return ++now; },
                            .random_bytes =
                                [this](std::size_t n) {
                                  std::string bytes(n, '\0');
                                  bytes[0] = static_cast<char>(++randomness);
                                  return bytes;
                                }});
    if (!store->open()) return nullptr;
    return store;
  }
  // Number of files on all drives.
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& drive : drives) count += drive->files().size();
    return count;
  }
};

bool put(store::Store& store, const std::string& key, const std::string& bytes) {
  store::BlobWriter writer = store.writer("hot");
  if (!writer.append(bytes)) return false;
  auto blob = writer.finish();
  if (!blob) return false;
  rows::Version fresh{.size = bytes.size(), .etag = bytes.substr(0, 1)};
  fresh.extents = {{blob->id, bytes.size(), to_hex(s3::md5(bytes)), ""}};
  return store.put("bucket", key, fresh, {*blob}).has_value();
}

std::optional<std::string> get(store::Store& store, const std::string& key) {
  auto object = store.open_object("bucket", key, std::nullopt,
                                  [](const rows::Version& version) -> store::Answer<void> {
                                    if (version.marker) return store::refused("NoSuchKey");
                                    return {};
                                  });
  if (!object) {
    EXPECT_EQ(object.error().code, "NoSuchKey") << object.error().message;
    return std::nullopt;
  }
  std::string bytes(object->version.size, '\0');
  const auto got = object->reader->read(0, bytes);
  if (!got || *got != bytes.size()) {
    ADD_FAILURE() << "an acknowledged object is unreadable";
    return std::nullopt;
  }
  return bytes;
}

constexpr const char* kToCold =
    "<LifecycleConfiguration><Rule><Prefix/><Status>Enabled</Status><Transition><Days>0</Days>"
    "<StorageClass>GLACIER</StorageClass></Transition></Rule></LifecycleConfiguration>";

rows::Bucket bucket_of(rows::Versioning versioning) {
  return {.name = "bucket",
          .owner = "main",
          .versioning = versioning,
          .documents = {{"lifecycle", kToCold}}};
}

// Moves objects until none is due; returns false if an action failed.
bool move(store::Store& store) {
  TierPlaces places(store, {.day_ms = 1000});
  storage::LifecycleDriver driver(places, [](const auto&) -> Result<void> { return {}; },
                                  {.places = places_of(store.setting().tiers)}, {});
  for (int round = 0; round < 20; ++round) {
    const auto tick = driver.tick();
    if (!tick) return false;
    for (const auto& done : tick->done) {
      if (!done.good) return false;
    }
    if (tick->items == 0) return true;
  }
  ADD_FAILURE() << "the moves do not end";
  return false;
}

// The state of a key after a step: its bytes, or nullopt.
using State = std::optional<std::string>;
struct Step {
  std::function<bool(store::Store&)> act;  // returns true if it was acknowledged
  State after;
};

struct Crash {
  int at = 0;               // call at which the power fails
  std::size_t commits = 0;  // unsynced commits that survive
  int tear = 0;          // 0: nothing unsynced is left; 1: all; 2: half of each file; 3: no bytes
  bool returns = false;  // removed files are back
};

void lose_power(Bench& bench, const Crash& crash) {
  bench.metadata.crash(crash.commits);
  for (const auto& drive : bench.drives) {
    drive->crash({.keeps = [&](const std::string&, const drives::SimulatedDrive::Content& content)
                      -> std::optional<std::size_t> {
                    if (crash.tear == 0) return std::nullopt;
                    if (crash.tear == 1) return content.bytes.size();
                    if (crash.tear == 2) return content.bytes.size() / 2;
                    return 0;
                  },
                  .returns = [&](const std::string&) { return crash.returns; }});
  }
  bench.power = {};
}

// Runs the steps until the power fails; returns the states that the key may have then.
std::vector<State> run_steps(Bench& bench, const std::vector<Step>& steps,
                             rows::Versioning versioning) {
  auto store = bench.open();
  std::vector<State> may = {std::nullopt};
  if (!store || !store->make_bucket(bucket_of(versioning))) return may;
  for (const Step& step : steps) {
    if (!step.act(*store)) {
      may.push_back(step.after);  // unknown outcome: as before or as after
      return may;
    }
    may = {step.after};
  }
  return may;
}

void check_after(Bench& bench, const std::vector<State>& may, const Crash& crash) {
  auto store = bench.open();
  ASSERT_TRUE(store);
  const std::string where = "crash at " + std::to_string(crash.at) + ", commits " +
                            std::to_string(crash.commits) + ", tear " + std::to_string(crash.tear);
  if (store->bucket("bucket")) {
    const State now = get(*store, "key");
    EXPECT_THAT(may, testing::Contains(now)) << where;
  } else {
    EXPECT_THAT(may, testing::Contains(State())) << where;
  }
  // After the sweep and the collection a row refers to every file.
  const auto swept = sweep_orphans(*store);
  ASSERT_TRUE(swept) << where;
  ASSERT_TRUE(store->collect()) << where;
  std::size_t named = 0;
  const auto cursor = bench.metadata.cursor();
  for (cursor->seek("s"); cursor->valid() && cursor->key().starts_with("s"); cursor->next()) {
    named += rows::decode_blob(cursor->value())->shards.size();
  }
  EXPECT_EQ(bench.files(), named) << where;
  // The store continues to work.
  if (!store->bucket("bucket")) {
    ASSERT_TRUE(store->make_bucket({.name = "bucket", .owner = "main"}));
  }
  EXPECT_TRUE(put(*store, "key", "again")) << where;
  EXPECT_EQ(get(*store, "key"), "again") << where;
}

// Returns the number of crashes tried.
int try_all_crashes(drives::ShardPlan plan, const std::vector<Step>& steps,
                    rows::Versioning versioning, std::size_t held = 0) {
  int tried = 0;
  Bench whole(plan, held);
  run_steps(whole, steps, versioning);
  const int calls = whole.power.calls;
  for (int at = 0; at <= calls; ++at) {
    for (int tear = 0; tear < 4; ++tear) {
      for (const bool returns : {false, true}) {
        for (std::size_t commits = 0;; ++commits) {
          Bench bench(plan, held);
          bench.power.limit = at;
          const std::vector<State> may = run_steps(bench, steps, versioning);
          const std::size_t pending = bench.metadata.pending();
          const Crash crash{at, commits, tear, returns};
          lose_power(bench, crash);
          check_after(bench, may, crash);
          ++tried;
          if (testing::Test::HasFailure()) return tried;
          if (commits >= pending) break;
        }
      }
    }
  }
  return tried;
}

Step put_step(const std::string& bytes) {
  return {[bytes](store::Store& store) { return put(store, "key", bytes); }, bytes};
}
Step remove_step() {
  return {[](store::Store& store) { return store.remove("bucket", "key", {}).has_value(); },
          std::nullopt};
}
Step move_step(const State& after) {
  return {[](store::Store& store) { return move(store); }, after};
}
Step collect_step(const State& after) {
  return {[](store::Store& store) { return store.collect().has_value(); }, after};
}

TEST(StoreCrash, keeps_acknowledged_puts_and_deletes_in_one_copy) {
  const std::string small = text_of_size('a', 100);
  const std::string large = text_of_size('b', 3 * store::kBlockBytes + 7);
  const int tried = try_all_crashes({1, 0},
                                    {put_step(small), put_step(large), collect_step(large),
                                     remove_step(), collect_step(std::nullopt), put_step(small)},
                                    rows::Versioning::off);
  EXPECT_GT(tried, 100);
}

TEST(StoreCrash, keeps_acknowledged_puts_and_deletes_in_an_erasure_code) {
  const std::string bytes = text_of_size('c', 2 * store::kBlockBytes + 1);
  const int tried = try_all_crashes({2, 1}, {put_step(bytes), put_step("d"), remove_step()},
                                    rows::Versioning::off);
  EXPECT_GT(tried, 100);
}

// Small blobs are stored in their rows only in the first tier: a move turns them into files.
TEST(StoreCrash, keeps_blobs_in_rows_and_in_files) {
  constexpr std::size_t kHeld = 100;
  const std::string small = text_of_size('h', kHeld);
  const std::string large = text_of_size('f', kHeld + 1);
  int tried = try_all_crashes({1, 1},
                              {put_step(small), put_step(large), collect_step(large),
                               put_step(small), move_step(small), collect_step(small)},
                              rows::Versioning::off, kHeld);
  tried += try_all_crashes({2, 1}, {put_step(small), put_step("i"), remove_step(), put_step(large)},
                           rows::Versioning::on, kHeld);
  EXPECT_GT(tried, 300);
}

TEST(StoreCrash, keeps_objects_that_move_between_tiers) {
  const std::string bytes = text_of_size('m', store::kBlockBytes + 3);
  const int tried = try_all_crashes({1, 1},
                                    {put_step(bytes), move_step(bytes), collect_step(bytes),
                                     put_step("n"), move_step("n"), remove_step()},
                                    rows::Versioning::off);
  EXPECT_GT(tried, 300);
}

// Every history of a few steps on one key, each crashed at every call of a port.
TEST(StoreCrash, keeps_every_short_history_of_put_move_and_delete) {
  enum class Act { put, move, remove, collect };
  // Without ORRERY_FULL a third of the histories run in files, a third in rows, none with versions.
  const bool full = std::getenv("ORRERY_FULL") != nullptr;
  int tried = 0;
  constexpr int kSteps = 3;
  constexpr int kActs = 4;
  for (int history = 0; history < kActs * kActs * kActs; ++history) {
    std::vector<Step> steps;
    State state;
    for (int i = 0, code = history; i < kSteps; ++i, code /= kActs) {
      const auto act = static_cast<Act>(code % kActs);
      if (act == Act::put) state = "put " + std::to_string(i);
      if (act == Act::remove) state.reset();
      steps.push_back(act == Act::put      ? put_step(*state)
                      : act == Act::move   ? move_step(state)
                      : act == Act::remove ? remove_step()
                                           : collect_step(state));
    }
    for (const rows::Versioning versioning : {rows::Versioning::off, rows::Versioning::on}) {
      if (versioning == rows::Versioning::on && !full) continue;
      if (full || history % 3 == 0) tried += try_all_crashes({1, 0}, steps, versioning);
      ASSERT_FALSE(HasFailure()) << "history " << history;
      if (full || history % 3 == 1)
        tried += try_all_crashes({1, 0}, steps, versioning, store::kBlockBytes);
      ASSERT_FALSE(HasFailure()) << "history " << history << " in rows";
    }
  }
  EXPECT_GT(tried, full ? 5000 : 1500);
  RecordProperty("crashes", tried);
}

TEST(StoreCrash, keeps_acknowledged_versions) {
  const int tried =
      try_all_crashes({1, 1}, {put_step("one"), put_step("two"), remove_step(), put_step("three")},
                      rows::Versioning::on);
  EXPECT_GT(tried, 100);
}

TEST(StoreCrash, completes_an_upload_wholly_or_not_at_all) {
  const std::string bytes = text_of_size('p', 100);
  const Step upload{[bytes](store::Store& store) {
                      auto id = store.begin_upload({.bucket = "bucket", .key = "key"});
                      if (!id) return false;
                      auto upload = store.upload("bucket", "key", *id);
                      if (!upload) return false;
                      rows::Version version{
                          .size = 2 * bytes.size(), .etag = "x", .multipart = true};
                      for (std::uint64_t number = 1; number <= 2; ++number) {
                        store::BlobWriter writer = store.writer("hot");
                        if (!writer.append(bytes)) return false;
                        auto blob = writer.finish();
                        if (!blob) return false;
                        const rows::Part part{number, 0, {blob->id, bytes.size(), "e", ""}};
                        if (!store.put_part(*upload, part, *blob)) return false;
                        version.extents.push_back(part.extent);
                      }
                      return store.complete_upload(*upload, version, {}).has_value();
                    },
                    bytes + bytes};
  // Parts of an open upload are rows too, so only the state of the key is compared.
  const int tried = try_all_crashes({1, 0}, {upload, remove_step()}, rows::Versioning::off);
  EXPECT_GT(tried, 50);
}

}  // namespace
}  // namespace orrery::upkeep::store_crash_tests
