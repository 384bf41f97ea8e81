#include "live/drives/rados_drive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "live/drives/ceph_pool.h"
#include "live/drives/simulated_pool_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/store/blob.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/store_folder.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep {
namespace {

using drives::PoolFault;
using drives::SimulatedPool;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using When = SimulatedPool::When;

const drives::DriveMark kPoolMark{"0123456789abcdef", "hot-0"};
constexpr std::size_t kPiece = std::size_t{16} << 20;

// The pool outlives the drives that are opened on it.
class SharedPool final : public drives::Pool {
 public:
  explicit SharedPool(SimulatedPool& pool) : pool_(pool) {}
  std::unique_ptr<drives::Append> append(const std::string& object, std::string_view bytes,
                                         bool fresh) override {
    return pool_.append(object, bytes, fresh);
  }
  drives::Said<std::size_t> append_unit() override { return pool_.append_unit(); }
  drives::Said<std::string> read(const std::string& object, std::uint64_t offset,
                                 std::size_t count) override {
    return pool_.read(object, offset, count);
  }
  drives::Said<std::uint64_t> size(const std::string& object) override {
    return pool_.size(object);
  }
  drives::Said<void> remove(const std::string& object) override { return pool_.remove(object); }
  drives::Said<std::vector<std::string>> list() override { return pool_.list(); }
  drives::Said<drives::PoolSpace> space() override { return pool_.space(); }

 private:
  SimulatedPool& pool_;
};

class RadosDriveTest : public testing::Test {
 protected:
  Result<std::unique_ptr<drives::Drive>> open_drive(bool make,
                                                    const drives::DriveMark& mark = kPoolMark) {
    return drives::open_rados_drive(std::make_unique<SharedPool>(pool), "rados:p/s", mark, make);
  }
  std::unique_ptr<drives::Drive> made() {
    auto drive = open_drive(true);
    EXPECT_TRUE(drive);
    return drive ? std::move(*drive) : nullptr;
  }
  static drives::Outcome<void> write(drives::Drive& drive, const std::string& name,
                                     const std::string& bytes) {
    auto file = drive.create(name);
    if (!file) return std::unexpected(file.error());
    const std::string_view pieces[] = {bytes};
    if (auto done = (*file)->append(pieces); !done) return done;
    return (*file)->sync();
  }
  static drives::Outcome<std::string> read(drives::Drive& drive, const std::string& name,
                                           std::size_t most) {
    auto file = drive.open(name);
    if (!file) return std::unexpected(file.error());
    std::string bytes(most, '\0');
    const auto got = (*file)->read(0, bytes);
    if (!got) return std::unexpected(got.error());
    return bytes.substr(0, *got);
  }
  // Bytes of which none is like its neighbours.
  static std::string some_bytes(std::size_t count) {
    std::string bytes(count, '\0');
    std::uint32_t state = 1;
    for (char& c : bytes) c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
    return bytes;
  }
  static void await_the_end_of_silence() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  }

  SimulatedPool pool;
};

TEST(PoolPlace, is_read_and_what_is_wrong_is_said) {
  const auto place = drives::pool_place_of("rados:hot.data/store-1");
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, (drives::PoolPlace{.pool = "hot.data", .space = "store-1"}));
  const auto all = drives::pool_place_of("rados:p/n?conf=/a/b.conf&user=client.me&keyring=/k");
  ASSERT_TRUE(all);
  EXPECT_EQ(*all, (drives::PoolPlace{"p", "n", "/a/b.conf", "client.me", "/k"}));
  EXPECT_EQ(drives::pool_place_of("rados:p/n?user=me")->user, "client.me");
  for (const char* bad : {"rados:", "rados:p", "rados:p/", "rados:/n", "rados:p/a/b", "rados:p/n?",
                          "rados:p/n?conf=relative", "rados:p/n?user=", "rados:p/n?zone=a",
                          "rados:p q/n", "rados:p/n?user=a b"}) {
    EXPECT_FALSE(drives::pool_place_of(bad)) << bad;
  }
}

TEST(PoolPlace, is_a_drive_of_any_tier_but_the_one_next_to_the_gpus) {
  for (const char* tier : {"hot", "warm", "cold"}) {
    EXPECT_TRUE(tier_plan_of(std::string(tier) + "=1x:rados:p/n")) << tier;
  }
  EXPECT_FALSE(tier_plan_of("gpu-direct=1x:rados:p/n"));
  EXPECT_FALSE(tier_plan_of("hot=1x:rados:p"));
  EXPECT_TRUE(tier_plan_of("hot=2x:rados:p/a,rados:q/a"));
}

TEST_F(RadosDriveTest, keeps_the_promises_of_a_drive) {
  for (const std::size_t unit : {std::size_t{4096}, std::size_t{24576}}) {
    pool.objects().clear();
    pool.unit = unit;
    const auto drive = made();
    const std::string large = some_bytes(2 * kPiece + 5'000'001);
    const std::string whole = some_bytes(kPiece);
    ASSERT_TRUE(write(*drive, "a.00.0", "some bytes"));
    ASSERT_TRUE(write(*drive, "b.00.0", large));
    ASSERT_TRUE(write(*drive, "c.00.0", whole));
    ASSERT_TRUE(write(*drive, "d.00.0", ""));
    EXPECT_EQ(read(*drive, "a.00.0", 100), "some bytes");
    EXPECT_TRUE(read(*drive, "b.00.0", large.size() + 10) == large);
    EXPECT_TRUE(read(*drive, "c.00.0", kPiece + 10) == whole);
    EXPECT_EQ(read(*drive, "d.00.0", 10), "");
    EXPECT_THAT(*drive->list(), UnorderedElementsAre("a.00.0", "b.00.0", "c.00.0", "d.00.0"));
    EXPECT_EQ(pool.objects().size(), 7u);  // the mark, and three pieces of b
    for (const auto& [name, object] : pool.objects()) {
      EXPECT_EQ(object.acked, object.bytes.size()) << name;
    }
    // Reads begin where they like.
    auto file = drive->open("b.00.0");
    ASSERT_TRUE(file);
    std::string part(300'000, '\0');
    EXPECT_EQ((*file)->read(kPiece - 1000, part), part.size());
    EXPECT_TRUE(part == large.substr(kPiece - 1000, part.size()));
    for (const char* name : {"a.00.0", "b.00.0", "c.00.0", "d.00.0", "e.00.0"}) {
      EXPECT_TRUE(drive->remove(name)) << name;
    }
    EXPECT_EQ(pool.objects().size(), 1u);
    EXPECT_EQ(drive->open("a.00.0").error().kind, drives::PortFault::missing);
  }
}

TEST_F(RadosDriveTest, belongs_to_whom_its_mark_says) {
  EXPECT_FALSE(open_drive(false));  // nothing is there
  made();
  EXPECT_TRUE(open_drive(false));
  EXPECT_FALSE(open_drive(false, {"another", "hot-0"}));
  EXPECT_FALSE(open_drive(true, {"another", "hot-0"}));
  pool.inject(PoolFault::refused, 1);
  EXPECT_THAT(open_drive(true).error().front().what, HasSubstr("is not there"));
}

TEST_F(RadosDriveTest, what_was_not_synced_is_a_front_and_what_was_is_there) {
  const auto drive = made();
  const std::string kept = some_bytes(kPiece + 700'000);
  ASSERT_TRUE(write(*drive, "kept.00.0", kept));
  auto begun = drive->create("begun.00.0");
  const std::string_view pieces[] = {kept};
  ASSERT_TRUE((*begun)->append(pieces));
  int which = 0;
  pool.crash([&](const SimulatedPool::Object& object) -> std::optional<std::size_t> {
    if (++which % 2 == 0) return std::nullopt;
    return (object.bytes.size() - object.acked) / 2;
  });
  EXPECT_TRUE(read(*drive, "kept.00.0", kept.size()) == kept);
  const auto front = read(*drive, "begun.00.0", kept.size());
  ASSERT_TRUE(front);
  EXPECT_TRUE(kept.starts_with(*front));
  EXPECT_TRUE(drive->remove("begun.00.0"));
  EXPECT_THAT(*drive->list(), UnorderedElementsAre("kept.00.0"));
}

TEST_F(RadosDriveTest, a_write_whose_end_is_not_known_is_not_acknowledged) {
  const std::string bytes = some_bytes(3'000'000);
  for (const When when : {When::before, When::after}) {
    for (std::size_t call = 0; call < 12; ++call) {
      pool.objects().clear();
      const auto drive = made();
      auto file = drive->create("x.00.0");
      // The call-th append of the file.
      const std::string_view first[] = {std::string_view(bytes).substr(0, call * 262'144)};
      ASSERT_TRUE((*file)->append(first));
      pool.inject(PoolFault::silent, 1, "append", when);
      const std::string_view rest[] = {std::string_view(bytes).substr(first[0].size())};
      auto done = (*file)->append(rest);
      if (done) done = (*file)->sync();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().kind, drives::PortFault::busy);
      EXPECT_FALSE((*file)->sync());  // and it stays so
      EXPECT_EQ(pool.faults_left(), 0u);
    }
  }
}

TEST_F(RadosDriveTest, a_removal_that_died_is_finished_by_the_sweep_of_what_is_listed) {
  const auto drive = made();
  ASSERT_TRUE(write(*drive, "a.00.0", some_bytes(2 * kPiece + 10)));
  // From the last piece on: the front is there until the end.
  pool.inject(PoolFault::broken, 1, "remove");
  EXPECT_FALSE(drive->remove("a.00.0"));
  EXPECT_EQ(pool.objects().size(), 4u);
  EXPECT_TRUE(drive->remove("a.00.0"));
  EXPECT_EQ(pool.objects().size(), 1u);
  // A piece that came after its file was removed.
  pool.objects()["late.00.0@3"].bytes = "late";
  EXPECT_THAT(*drive->list(), UnorderedElementsAre("late.00.0"));
  EXPECT_TRUE(drive->remove("late.00.0"));
  EXPECT_THAT(*drive->list(), testing::IsEmpty());
}

TEST_F(RadosDriveTest, a_cluster_that_is_silent_or_refuses_is_busy_and_a_full_one_full) {
  const auto drive = made();
  ASSERT_TRUE(write(*drive, "a.00.0", "some bytes"));
  pool.inject(PoolFault::refused, 1);
  EXPECT_EQ(read(*drive, "a.00.0", 10).error().kind, drives::PortFault::busy);
  EXPECT_EQ(read(*drive, "a.00.0", 10), "some bytes");
  pool.capacity = 1000;
  EXPECT_EQ(write(*drive, "b.00.0", std::string(2000, 'b')).error().kind, drives::PortFault::full);
  pool.inject(PoolFault::broken, 1);
  EXPECT_EQ(read(*drive, "a.00.0", 10).error().kind, drives::PortFault::failed);
  // After a silence nobody is asked for two seconds.
  pool.inject(PoolFault::silent, 1);
  EXPECT_EQ(drive->list().error().kind, drives::PortFault::busy);
  const int asked = pool.calls();
  EXPECT_EQ(read(*drive, "a.00.0", 10).error().kind, drives::PortFault::busy);
  EXPECT_EQ(write(*drive, "c.00.0", "c").error().kind, drives::PortFault::busy);
  EXPECT_EQ(drive->space().error().kind, drives::PortFault::busy);
  EXPECT_EQ(pool.calls(), asked);
  await_the_end_of_silence();
  EXPECT_EQ(read(*drive, "a.00.0", 10), "some bytes");
}

TEST_F(RadosDriveTest, a_cluster_that_is_silent_at_the_start_is_checked_later) {
  made();
  pool.inject(PoolFault::silent, 1);
  auto ours = open_drive(false);
  ASSERT_TRUE(ours);
  EXPECT_TRUE(write(**ours, "a.00.0", "some bytes"));
  pool.inject(PoolFault::silent, 1);
  auto theirs = open_drive(false, {"another", "hot-0"});
  ASSERT_TRUE(theirs);
  EXPECT_EQ(read(**theirs, "a.00.0", 10).error().kind, drives::PortFault::busy);
  EXPECT_EQ(write(**theirs, "b.00.0", "b").error().kind, drives::PortFault::busy);
  EXPECT_FALSE(pool.objects().contains("b.00.0"));
}

// A blob on it: every block is checked, and no other bytes are ever given.
TEST_F(RadosDriveTest, a_bit_that_turns_is_found) {
  const auto drive = made();
  const store::DriveSet set = {{"hot-0", drive.get()}};
  const std::string bytes = some_bytes(300'000);
  store::BlobWriter writer(set, {"hot", {1, 0}, {"hot-0"}}, "0000000100000001", 0);
  ASSERT_TRUE(writer.append(bytes));
  const auto blob = writer.finish();
  ASSERT_TRUE(blob);
  std::string got(bytes.size(), '\0');
  ASSERT_TRUE(store::BlobReader(set, *blob).read(0, got));
  EXPECT_TRUE(got == bytes);
  for (auto& [name, object] : pool.objects()) {
    if (name != "drive") object.bytes[200'000] = static_cast<char>(object.bytes[200'000] ^ 1);
  }
  const auto wrong = store::BlobReader(set, *blob).read(0, got);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, drives::PortFault::corrupt);
}

// A store whose only tier it is.
class RadosStoreTest : public RadosDriveTest {
 protected:
  // Another run: what the one before had under way is left behind.
  void reopen() {
    store.reset();
    drive = made();
    store = std::make_unique<store::Store>(
        store::StoreSetting{.metadata = metadata,
                            .drives = {{"hot-0", drive.get()}},
                            .tiers = {{"hot", {1, 0}, {"hot-0"}}},
                            .now_ms = [] { return rows::TimeMs{1'700'000'000'000}; },
                            .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }});
    ASSERT_TRUE(store->open());
  }
  bool put(const std::string& key, const std::string& bytes) {
    store::BlobWriter writer = store->writer("hot");
    if (!writer.append(bytes)) return false;
    const auto blob = writer.finish();
    if (!blob) return false;
    rows::Version fresh{.size = bytes.size(), .etag = "e"};
    fresh.extents = {{blob->id, bytes.size(), "e", ""}};
    return store->put("pail", key, fresh, {*blob}).has_value();
  }
  std::string get(const std::string& key) {
    auto object = store->open_object(
        "pail", key, std::nullopt, [](const rows::Version&) -> store::Answer<void> { return {}; });
    if (!object) return object.error().code;
    std::string got(object->version.size, ' ');
    const auto done = object->reader->read(0, got);
    return done ? got : store::refusal_of(done.error()).code;
  }

  rows::MemoryMetadata metadata;
  std::unique_ptr<drives::Drive> drive;
  std::unique_ptr<store::Store> store;
};

TEST_F(RadosStoreTest, whatever_append_meets_a_silence_nothing_acknowledged_is_lost) {
  reopen();
  ASSERT_TRUE(store->make_bucket({.name = "pail", .owner = "main"}));
  const std::string bytes = some_bytes(1'000'000);
  ASSERT_TRUE(put("kept", bytes));
  const std::size_t sound = drive->list()->size();
  for (const When when : {When::before, When::after}) {
    for (int call = 0; call < 4; ++call) {
      // The silence meets the put's (call + 1)-th append; it has four.
      pool.inject(PoolFault::silent, 1, "append", when, call);
      EXPECT_FALSE(put("unsure", bytes));
      EXPECT_EQ(pool.faults_left(), 0u);
      reopen();
      EXPECT_TRUE(get("kept") == bytes);
      EXPECT_EQ(get("unsure"), "NoSuchKey");
      ASSERT_TRUE(sweep_orphans(*store));
      EXPECT_EQ(drive->list()->size(), sound) << "what is left of it is set aside";
      const auto check = check_store(*store, true);
      ASSERT_TRUE(check);
      EXPECT_TRUE(check->clean());
    }
  }
  // Removed, it is gone there too.
  ASSERT_TRUE(store->remove("pail", "kept", {}));
  ASSERT_TRUE(store->collect());
  EXPECT_TRUE(drive->list()->empty());
  const auto left = drive->aside();
  ASSERT_TRUE(left);
  for (const drives::AsideFile& file : *left) ASSERT_TRUE(drive->remove_aside(file));
  EXPECT_EQ(pool.objects().size(), 1u) << "its mark";
}

TEST_F(RadosStoreTest, the_scrubber_reads_it_through_and_a_silence_is_no_damage) {
  reopen();
  ASSERT_TRUE(store->make_bucket({.name = "pail", .owner = "main"}));
  const std::string bytes = some_bytes(300'000);
  ASSERT_TRUE(put("a", bytes));
  pool.inject(PoolFault::silent, 1);
  Scrubber scrubber(*store);
  ASSERT_TRUE(scrubber.step(1 << 30));
  EXPECT_EQ(scrubber.counts().damaged, 0u);
  EXPECT_EQ(scrubber.counts().lost, 0u);
  EXPECT_EQ(get("a"), "SlowDown");
  await_the_end_of_silence();
  EXPECT_TRUE(get("a") == bytes);
  for (auto& [name, object] : pool.objects()) {
    if (name != "drive") object.bytes[200'000] = static_cast<char>(object.bytes[200'000] ^ 1);
  }
  Scrubber again(*store);
  ASSERT_TRUE(again.step(1 << 30));
  EXPECT_EQ(again.counts().damaged + again.counts().lost, 2u);  // one copy: it cannot be mended
  EXPECT_EQ(get("a"), "InternalError");
}

}  // namespace
}  // namespace orrery::upkeep
