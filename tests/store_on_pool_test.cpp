// A store whose only tier is a RADOS pool: a silent cluster loses nothing that was acknowledged,
// and does not count as damage.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "live/drives/rados_drive.h"
#include "live/drives/simulated_pool_fixture.h"
#include "live/store/store_fixture.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep::store_on_pool_tests {
namespace {

using drives::PoolFault;
using drives::SimulatedPool;
using When = SimulatedPool::When;

class StoreOnPool : public store::StoreBench {
 protected:
  StoreOnPool() : StoreBench({{"hot", {1, 0}, {"hot-0"}}}) {
    reopen();
    EXPECT_TRUE(store->make_bucket({.name = "pail", .owner = "main"}));
  }
  // Starts another run; unfinished work of the previous one is left behind.
  void reopen() {
    store.reset();
    auto opened = drives::open_rados_drive(std::make_unique<drives::SharedPool>(pool), "rados:p/s",
                                           {"0123456789abcdef", "hot-0"}, true);
    ASSERT_TRUE(opened);
    drive = std::move(*opened);
    set["hot-0"] = drive.get();
    open();
  }
  bool put(const std::string& key, const std::string& bytes) {
    store::BlobWriter writer = store->writer("hot");
    if (!writer.append(bytes)) return false;
    const auto blob = writer.finish();
    if (!blob) return false;
    rows::Version fresh{.size = bytes.size(), .etag = "e"};
    fresh.extents = {extent_of(*blob, bytes)};
    return store->put("pail", key, fresh, {*blob}).has_value();
  }
  // Bytes that all differ from their neighbours.
  static std::string some_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    std::uint32_t state = 1;
    for (char& c : bytes) c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    return bytes;
  }
  void flip_a_bit() {
    for (auto& [name, object] : pool.objects()) {
      if (name != "drive") object.bytes[200'000] = static_cast<char>(object.bytes[200'000] ^ 1);
    }
  }

  SimulatedPool pool;
  std::unique_ptr<drives::Drive> drive;
};

TEST_F(StoreOnPool, a_silence_at_any_append_loses_nothing_acknowledged) {
  const std::string bytes = some_bytes(1'000'000);
  ASSERT_TRUE(put("kept", bytes));
  const std::size_t sound = drive->list()->size();
  for (const When when : {When::before, When::after}) {
    for (int call = 0; call < 4; ++call) {
      // The put makes four appends; one of them gets no answer.
      pool.inject(PoolFault::silent, 1, "append", when, call);
      EXPECT_FALSE(put("unsure", bytes));
      EXPECT_EQ(pool.faults_left(), 0u);
      reopen();
      EXPECT_TRUE(get("kept") == bytes);
      EXPECT_EQ(get("unsure"), "NoSuchKey");
      ASSERT_TRUE(sweep_orphans(*store));
      EXPECT_EQ(drive->list()->size(), sound) << "its files are set aside";
      const auto check = check_store(*store, true);
      ASSERT_TRUE(check);
      EXPECT_TRUE(check->clean());
    }
  }
  ASSERT_TRUE(store->remove("pail", "kept", {}));
  ASSERT_TRUE(store->collect());
  EXPECT_TRUE(drive->list()->empty());
  const auto left = drive->aside();
  ASSERT_TRUE(left);
  for (const drives::AsideFile& file : *left) ASSERT_TRUE(drive->remove_aside(file));
  EXPECT_EQ(pool.objects().size(), 1u) << "the drive's marker";
}

TEST_F(StoreOnPool, a_silence_is_not_damage_but_a_flipped_bit_is) {
  const std::string bytes = some_bytes(300'000);
  ASSERT_TRUE(put("a", bytes));
  pool.inject(PoolFault::silent, 1);
  Scrubber scrubber(*store);
  ASSERT_TRUE(scrubber.step(1 << 30));
  EXPECT_EQ(scrubber.counts().damaged, 0u);
  EXPECT_EQ(scrubber.counts().lost, 0u);
  EXPECT_EQ(get("a"), "unreadable");
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // the cluster is tried again
  EXPECT_TRUE(get("a") == bytes);
  flip_a_bit();
  Scrubber again(*store);
  ASSERT_TRUE(again.step(1 << 30));
  EXPECT_EQ(again.counts().damaged + again.counts().lost, 2u);  // one copy, so it cannot be
                                                                // repaired
  EXPECT_EQ(get("a"), "unreadable");
}

}  // namespace
}  // namespace orrery::upkeep::store_on_pool_tests
