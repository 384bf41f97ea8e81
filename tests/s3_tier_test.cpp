// A tier in another object store that fails on demand: moves lose nothing, and reads are either
// right or report that the bytes cannot be read now.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "core/base/digest.h"
#include "layers/storage/lifecycle_driver.h"
#include "live/drives/s3_drive.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/s3/hash.h"
#include "live/store/storage_class.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/sweep.h"
#include "live/upkeep/tier_places.h"
#include "s3_fault_server.h"

namespace orrery::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

const drives::DriveMark kMark{"0123456789abcdef", "cold-0"};

class S3TierTest : public testing::Test {
 protected:
  S3TierTest() {
    spool = (std::filesystem::temp_directory_path() / "orrery-spool-XXXXXX").string();
    EXPECT_NE(::mkdtemp(spool.data()), nullptr);
    access.keys[""] = S3FaultServer::credentials();
    access.retry = {.attempts_max = 2, .base_s = 0.001, .cap_s = 0.002};
    access.client.slow_s = 1;
  }
  ~S3TierTest() override { std::filesystem::remove_all(spool); }

  drives::S3Place place() const { return {remote.endpoint(), "bucket", "tier/"}; }
  Result<std::unique_ptr<drives::Drive>> open_drive(bool make,
                                                    const drives::DriveMark& mark = kMark) {
    return open_s3_drive(place(), mark, access, spool, make);
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

  S3FaultServer remote;
  std::string spool;
  drives::S3Access access;
};

TEST(S3Place, is_read_and_what_is_wrong_is_said) {
  const auto place = drives::s3_place_of("s3+https://host:9000/pail/some/where?region=eu-west-1");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->endpoint, "https://host:9000");
  EXPECT_EQ(place->bucket, "pail");
  EXPECT_EQ(place->prefix, "some/where/");
  EXPECT_EQ(place->region, "eu-west-1");
  EXPECT_EQ(drives::s3_place_of("s3+http://host/pail")->prefix, "");
  for (const char* bad : {"s3+http://host", "s3+ftp://host/pail", "s3+http://host/P",
                          "s3+http://host/pail?zone=a", "s3+http://host/pail?region=", "s3+"}) {
    EXPECT_FALSE(drives::s3_place_of(bad)) << bad;
  }
}

TEST_F(S3TierTest, keeps_the_promises_of_a_drive) {
  auto drive = open_drive(true);
  ASSERT_TRUE(drive) << drive.error().front().what;
  const std::string large(3'000'000, 'l');
  ASSERT_TRUE(write(**drive, "a.00.0", "some bytes"));
  ASSERT_TRUE(write(**drive, "b.00.0", large));
  EXPECT_EQ(read(**drive, "a.00.0", 100), "some bytes");
  EXPECT_EQ(read(**drive, "b.00.0", large.size()), large);
  EXPECT_THAT(*(*drive)->list(), UnorderedElementsAre("a.00.0", "b.00.0"));
  // Nothing is stored before the sync.
  auto begun = (*drive)->create("c.00.0");
  ASSERT_TRUE(begun);
  const std::string_view pieces[] = {"half"};
  ASSERT_TRUE((*begun)->append(pieces));
  EXPECT_EQ((*drive)->open("c.00.0").error().kind, drives::PortFault::missing);
  ASSERT_TRUE((*drive)->remove("a.00.0"));
  ASSERT_TRUE((*drive)->remove("a.00.0"));
  EXPECT_EQ((*drive)->open("a.00.0").error().kind, drives::PortFault::missing);
  EXPECT_TRUE(open_drive(false));
  EXPECT_FALSE(open_drive(false, {"another", "cold-0"}));
  EXPECT_FALSE(open_drive(true, {"another", "cold-0"}));
}

TEST_F(S3TierTest, large_files_go_in_parts_and_leave_none_where_one_fails) {
  auto drive = open_drive(true);
  ASSERT_TRUE(drive);
  const std::string large((std::size_t{65} << 20) + 1, 'p');
  remote.inject(StoreFault::internal_error, 2, "PUT");
  const auto failed = write(**drive, "p.00.0", large);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, drives::PortFault::busy);
  EXPECT_EQ(remote.open_uploads(), 0u);
  EXPECT_FALSE(remote.object("tier/p.00.0"));
  ASSERT_TRUE(write(**drive, "p.00.0", large));
  EXPECT_EQ(remote.object("tier/p.00.0"), large);
}

TEST_F(S3TierTest, a_store_that_fails_is_busy_and_not_damaged) {
  auto drive = open_drive(true);
  ASSERT_TRUE(drive);
  ASSERT_TRUE(write(**drive, "a.00.0", "some bytes"));
  for (const StoreFault kind : {StoreFault::internal_error, StoreFault::slow_down}) {
    remote.inject(kind, 2);
    EXPECT_EQ(read(**drive, "a.00.0", 10).error().kind, drives::PortFault::busy);
    EXPECT_EQ(read(**drive, "a.00.0", 10), "some bytes");  // the next call succeeds
    remote.inject(kind, 2);
    EXPECT_EQ(write(**drive, "b.00.0", "x").error().kind, drives::PortFault::busy);
  }
  // A retry overcomes one failure.
  remote.inject(StoreFault::reset_body, 1, "GET");
  EXPECT_EQ(read(**drive, "a.00.0", 10), "some bytes");
  // After a silence calls fail at once; then the store is tried again.
  remote.inject(StoreFault::drop_before, 4);  // a kept connection that was cut is reopened once
  const auto cut = read(**drive, "a.00.0", 10);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, drives::PortFault::busy);
  const int asked = remote.requests();
  const auto at_once = read(**drive, "a.00.0", 10);
  ASSERT_FALSE(at_once);
  EXPECT_EQ(at_once.error().kind, drives::PortFault::busy);
  EXPECT_EQ(remote.requests(), asked);
  auto again = read(**drive, "a.00.0", 10);
  for (int i = 0; i < 100 && !again; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    again = read(**drive, "a.00.0", 10);
  }
  EXPECT_EQ(again, "some bytes");
}

TEST_F(S3TierTest, a_store_that_is_silent_at_the_start_is_asked_later) {
  ASSERT_TRUE(open_drive(true));
  remote.inject(StoreFault::internal_error, 2);
  auto drive = open_drive(false);
  ASSERT_TRUE(drive) << drive.error().front().what;
  ASSERT_TRUE(write(**drive, "a.00.0", "some bytes"));
  access.keys.clear();
  EXPECT_THAT(open_drive(false).error().front().what, HasSubstr("no access keys"));
}

// A store with a local hot tier and a remote cold tier, and a rule that moves objects.
class MovingTest : public S3TierTest {
 protected:
  void SetUp() override {
    auto opened = open_drive(true);
    ASSERT_TRUE(opened);
    cold = std::move(*opened);
    set = {{"hot-0", &hot}, {"cold-0", cold.get()}};
    store = std::make_unique<Store>(
        StoreSetting{.metadata = metadata,
                     .drives = set,
                     .tiers = {{"hot", {1, 0}, {"hot-0"}}, {"cold", {1, 0}, {"cold-0"}}},
                     .now_ms = [this] { return now; },
                     .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }});
    ASSERT_TRUE(store->open());
    ASSERT_TRUE(store->make_bucket(
        {.name = "pail",
         .owner = "main",
         .documents = {{"lifecycle",
                        "<LifecycleConfiguration><Rule><Prefix></Prefix><Status>Enabled</Status>"
                        "<Transition><Days>0</Days><StorageClass>GLACIER</StorageClass>"
                        "</Transition></Rule></LifecycleConfiguration>"}}}));
    BlobWriter writer = store->writer("hot");
    ASSERT_TRUE(writer.append(bytes));
    const auto blob = writer.finish();
    ASSERT_TRUE(blob);
    rows::Version fresh{.size = bytes.size(), .etag = to_hex(s3::md5(bytes))};
    fresh.extents = {{blob->id, bytes.size(), fresh.etag, ""}};
    ASSERT_TRUE(store->put("pail", "a", fresh, {*blob}));
  }
  void run(int rounds) {
    upkeep::TierPlaces places(*store, {.day_ms = 1000});
    storage::LifecycleDriver driver(places, [](const auto&) -> Result<void> { return {}; },
                                    {.places = upkeep::places_of(store->setting().tiers)}, {});
    for (int i = 0; i < rounds; ++i) {
      ASSERT_TRUE(driver.tick());
      now += 60'000;
    }
  }
  std::string get() {
    auto object = store->open_object("pail", "a", std::nullopt,
                                     [](const rows::Version&) -> Answer<void> { return {}; });
    if (!object) return object.error().code;
    std::string got(object->version.size, ' ');
    const auto done = object->reader->read(0, got);
    return done ? got : refusal_of(done.error()).code;
  }
  std::string tier() { return tier_of(*store->find("pail", "a", std::nullopt)); }

  const std::string bytes = std::string(200'000, 'm') + "end";
  rows::MemoryMetadata metadata;
  drives::SimulatedDrive hot;
  std::unique_ptr<drives::Drive> cold;
  DriveSet set;
  std::unique_ptr<Store> store;
  rows::TimeMs now = 1'700'000'000'000;
};

TEST_F(MovingTest, an_object_moves_and_is_read_and_checked_at_its_target) {
  run(8);
  EXPECT_EQ(tier(), "cold");
  ASSERT_TRUE(store->collect());
  EXPECT_TRUE(hot.files().empty());
  EXPECT_EQ(remote.objects(), 2u);  // the marker and the shard
  EXPECT_EQ(get(), bytes);
  EXPECT_TRUE(upkeep::check_store(*store, true)->clean());
  // If the store is silent, the object counts as neither lost nor damaged.
  remote.inject(StoreFault::internal_error, 100);
  EXPECT_EQ(get(), "SlowDown");
  const auto check = upkeep::check_store(*store, true);
  EXPECT_FALSE(check);  // its files cannot be listed
  upkeep::Scrubber scrubber(*store);
  ASSERT_TRUE(scrubber.step(1 << 30));
  EXPECT_EQ(scrubber.counts().damaged, 0u);
  EXPECT_EQ(scrubber.counts().lost, 0u);
}

TEST_F(MovingTest, an_object_stays_intact_and_arrives_whatever_call_fails) {
  constexpr StoreFault kFaults[] = {
      StoreFault::drop_after, StoreFault::internal_error, StoreFault::error_after,
      StoreFault::slow_down,  StoreFault::reset_upload,   StoreFault::truncated,
      StoreFault::reset_body, StoreFault::wrong_bytes,    StoreFault::wrong_etag};
  for (const StoreFault kind : kFaults) remote.inject(kind, 2);
  for (int round = 0; round < 40 && tier() != "cold"; ++round) {
    run(4);
    // The local copy serves reads until the remote one has been read back intact.
    if (tier() == "hot") {
      EXPECT_EQ(get(), bytes);
    }
    if (remote.faults_left() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(tier(), "cold");
  std::string last = get();
  for (int i = 0; i < 50 && last == "SlowDown"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    last = get();
  }
  EXPECT_EQ(last, bytes);
}

TEST_F(MovingTest, a_flipped_bit_is_never_returned) {
  run(8);
  ASSERT_EQ(tier(), "cold");
  remote.inject(StoreFault::wrong_bytes, 100, "GET");
  EXPECT_EQ(get(), "InternalError");
}

}  // namespace
}  // namespace orrery::store
