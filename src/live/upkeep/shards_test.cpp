// Shards as the drives see them: their names, how many bytes are announced, how often a file is
// written to, what is said where a drive is away, and the walk that reads them all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/failing_metadata_fixture.h"
#include "live/rows/memory_metadata_fixture.h"
#include "live/upkeep/check.h"
#include "live/upkeep/mend.h"

namespace orrery::upkeep::shards_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kId = "0000000a00000000000000ff";

// Counts what is asked of it; says `says` to what is written or opened, where it is set.
class ToldDrive final : public drives::Drive {
 public:
  struct Told {
    std::vector<std::uint64_t> expected = {};
    int appends = 0;
    std::uint64_t bytes = 0;
    int open = 0;  // files now
  };
  std::optional<drives::Fault> create_says;
  std::optional<drives::Fault> append_says;
  std::optional<drives::Fault> open_says;
  bool far = false;
  Told told;
  drives::SimulatedDrive under;

  drives::Outcome<std::unique_ptr<drives::DriveFile>> create(const std::string& name) override {
    if (create_says) return std::unexpected(*create_says);
    return wrapped(under.create(name));
  }
  drives::Outcome<std::unique_ptr<drives::DriveFile>> open(const std::string& name) override {
    if (open_says) return std::unexpected(*open_says);
    return wrapped(under.open(name));
  }
  drives::Outcome<void> remove(const std::string& name) override { return under.remove(name); }
  drives::Outcome<std::vector<std::string>> list() override { return under.list(); }
  drives::Outcome<drives::DriveSpace> space() override { return under.space(); }
  bool is_remote() const override { return far; }

 private:
  class File final : public drives::DriveFile {
   public:
    File(ToldDrive& of, std::unique_ptr<drives::DriveFile> file) : of_(of), file_(std::move(file)) {
      ++of_.told.open;
    }
    ~File() override { --of_.told.open; }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void expect(std::uint64_t bytes) override { of_.told.expected.push_back(bytes); }
    drives::Outcome<void> append(std::span<const std::string_view> pieces) override {
      if (of_.append_says) return std::unexpected(*of_.append_says);
      ++of_.told.appends;
      for (const std::string_view piece : pieces) of_.told.bytes += piece.size();
      return file_->append(pieces);
    }
    using drives::DriveFile::read;
    drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
      return file_->read(offset, into);
    }
    drives::Outcome<void> sync() override { return file_->sync(); }

   private:
    ToldDrive& of_;
    std::unique_ptr<drives::DriveFile> file_;
  };
  drives::Outcome<std::unique_ptr<drives::DriveFile>> wrapped(
      drives::Outcome<std::unique_ptr<drives::DriveFile>> file) {
    if (!file) return file;
    return std::make_unique<File>(*this, std::move(*file));
  }
};

TEST(ShardNames, are_those_that_were_written_and_no_others) {
  EXPECT_EQ(store::shard_name("blob", 7, 12), "blob.07.12");
  const auto name = store::shard_name_of("blob.31.12");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->blob, "blob");
  EXPECT_EQ(name->shard, 31);
  EXPECT_EQ(name->revision, 12u);
  EXPECT_TRUE(store::shard_name_of("b.00.0"));
  for (const char* bad :
       {"b.32.0", "b.-1.0", "b.00.-1", ".00.0", "b.00", "b.00.0.0", "b.x.0", "b.00.x", "drive"}) {
    EXPECT_FALSE(store::shard_name_of(bad)) << bad;
  }
  EXPECT_EQ(store::run_of("0000001a00000000000000ff"), 26u);
  EXPECT_EQ(store::run_of("rubbish"), 0u);
  EXPECT_EQ(store::run_of(""), 0u);
}

// Of a shard: a header of 64 bytes, then for each stripe its block and four bytes of checksum, and
// sixteen of seal where it is enciphered. With two of data a stripe has 131072 bytes.
TEST(ShardBytes, are_announced_as_they_come) {
  store::KeyRing keys;
  keys.current = "k";
  keys.keys["k"] = std::string(32, 'k');
  const auto announced = [](std::uint64_t bytes, const store::KeyRing& ring) {
    ToldDrive drives[2];
    const store::DriveSet set = {{"a", &drives[0]}, {"b", &drives[1]}};
    store::BlobWriter writer(set, {"hot", {2, 0}, {"a", "b"}}, kId, 0, ring);
    writer.expect(bytes);
    EXPECT_TRUE(writer.append(std::string(bytes, 'x')));
    EXPECT_TRUE(writer.finish());
    EXPECT_EQ(drives[0].told.bytes, drives[1].told.expected.at(0)) << "no more and no less";
    EXPECT_EQ(drives[0].told.open, 0) << "they are closed, though the writer lives";
    return drives[0].told.expected.at(0);
  };
  // 300000 = 2 x 131072 + 37856: 64 + 2 (65536 + 4) + 18928 + 4.
  EXPECT_EQ(announced(300'000, {}), 150'076u);
  EXPECT_EQ(announced(300'000, keys), 150'076u + 3 * 16);
  EXPECT_EQ(announced(393'216, {}), 64u + 3 * 65'540);
  EXPECT_EQ(announced(1, {}), 64u + 1 + 4) << "padded to one byte each";
  ToldDrive drive;
  const store::DriveSet set = {{"a", &drive}};
  store::BlobWriter unknown(set, {"hot", {1, 0}, {"a"}}, kId, 0);
  EXPECT_TRUE(unknown.append("x") && unknown.finish());
  EXPECT_THAT(drive.told.expected, IsEmpty()) << "nothing is known";
}

// Sixteen stripes go by one call: 40 of them by three, and the header by one of its own.
TEST(ShardBytes, are_written_many_stripes_at_a_time) {
  ToldDrive drive;
  const store::DriveSet set = {{"a", &drive}};
  store::BlobWriter writer(set, {"hot", {1, 0}, {"a"}}, kId, 0);
  ASSERT_TRUE(writer.append(std::string(40 * store::kBlockBytes, 'x')));
  EXPECT_EQ(drive.told.appends, 1 + 3);
  ASSERT_TRUE(writer.append("more"));
  EXPECT_EQ(drive.told.appends, 4) << "less than a stripe waits";
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(drive.told.appends, 5);
  EXPECT_EQ(drive.told.bytes, 64 + 40 * (store::kBlockBytes + 4) + 4 + 4);
}

TEST(ShardFaults, a_writer_says_why_no_drive_took_it) {
  const auto said = [](ToldDrive* drive) {
    const store::DriveSet set = {{"a", drive}};
    store::BlobWriter writer(set, {"hot", {1, 0}, {"a"}}, kId, 0);
    const auto done = writer.append(std::string(store::kBlockBytes, 'x'));
    return done ? drives::Fault{} : done.error();
  };
  ToldDrive drive;
  drive.append_says = drives::Fault{drives::PortFault::full, "no room"};
  EXPECT_EQ(said(&drive).kind, drives::PortFault::full);
  EXPECT_EQ(said(&drive).what, "no room");
  EXPECT_THAT(drive.under.files(), IsEmpty()) << "its file is gone";
  drive.create_says = drives::Fault{drives::PortFault::busy, "not now"};
  EXPECT_EQ(said(&drive).kind, drives::PortFault::busy);
  EXPECT_EQ(said(nullptr).kind, drives::PortFault::busy) << "that drive may come back";
  EXPECT_TRUE(said(nullptr).what.ends_with("away: a")) << said(nullptr).what;
  ToldDrive good;
  const store::DriveSet set = {{"a", nullptr}, {"c", &good}};
  store::BlobWriter round(set, {"hot", {1, 0}, {"a", "b", "c"}}, kId, 0);
  ASSERT_TRUE(round.append("x"));
  EXPECT_EQ(round.finish()->shards.at(0).drive, "c");
}

TEST(ShardFaults, a_reader_says_which_drive_or_key_is_not_there) {
  ToldDrive drives[2];
  const store::DriveSet set = {{"a", &drives[0]}, {"b", &drives[1]}};
  store::KeyRing keys;
  keys.current = "k";
  keys.keys["k"] = std::string(32, 'k');
  store::BlobWriter writer(set, {"hot", {1, 1}, {"a", "b"}}, kId, 0, keys);
  ASSERT_TRUE(writer.append("bytes"));
  const rows::Blob blob = *writer.finish();
  std::string into(5, '?');
  EXPECT_EQ(store::BlobReader(set, blob).read(0, into).error().what,
            "the key k of a blob is not known");
  const store::DriveSet half = {{"a", &drives[0]}, {"b", nullptr}};
  EXPECT_EQ(store::BlobReader(half, blob).check_header(1).error().what,
            "the drive of shard 1 is not there");
  EXPECT_EQ(store::BlobReader(half, blob).check_header(1).error().kind, drives::PortFault::missing);
  EXPECT_TRUE(store::BlobReader(half, blob).check_header(0));
  // Who cannot be asked now may have what is wanting: that is no damage.
  drives[0].open_says = drives[1].open_says = drives::Fault{drives::PortFault::busy, "not now"};
  store::BlobReader away(set, blob, keys);
  const auto got = away.read(0, into);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, drives::PortFault::busy);
  EXPECT_THAT(away.damaged(), IsEmpty());
  drives[0].open_says = drives::Fault{drives::PortFault::missing, "none"};
  store::BlobReader mixed(set, blob, keys);
  EXPECT_EQ(mixed.read(0, into).error().kind, drives::PortFault::busy);
  EXPECT_THAT(mixed.damaged(), ElementsAre(0));
  drives[1].open_says = drives::Fault{drives::PortFault::failed, "broken"};
  EXPECT_EQ(store::BlobReader(set, blob, keys).read(0, into).error().kind,
            drives::PortFault::corrupt);
}

class ScrubTest : public testing::Test {
 protected:
  ScrubTest()
      : store({.metadata = rows,
               .drives = {{"a", &drives[0]}, {"b", &drives[1]}},
               .tiers = {{"hot", {1, 1}, {"a", "b"}}},
               .now_ms = [] { return rows::TimeMs{5}; },
               .random_bytes = [](std::size_t n) { return std::string(n, 'r'); }}) {
    EXPECT_TRUE(store.open());
    EXPECT_TRUE(store.make_bucket({.name = "pail", .owner = "main"}));
  }
  rows::Blob put(const std::string& key, std::size_t bytes) {
    store::BlobWriter writer = store.writer("hot");
    EXPECT_TRUE(writer.append(std::string(bytes, 'x')));
    const rows::Blob blob = *writer.finish();
    rows::Version version{.size = bytes, .etag = "e"};
    version.extents = {{blob.id, bytes, "e", ""}};
    EXPECT_TRUE(store.put("pail", key, version, {blob}));
    return blob;
  }
  rows::MemoryMetadata memory;
  rows::FailingMetadata rows{memory};
  ToldDrive drives[2];
  store::Store store;
};

// Two copies of 100 bytes and of 50: 200 and 100, and one more for having looked.
TEST_F(ScrubTest, reads_as_much_as_it_may_and_owes_the_rest) {
  put("k", 100);
  put("l", 50);
  Scrubber scrubber(store);
  EXPECT_TRUE(scrubber.step(201).value()) << "there is another";
  EXPECT_EQ(scrubber.counts().blobs, 1u);
  EXPECT_EQ(scrubber.counts().bytes, 200u);
  EXPECT_FALSE(scrubber.step(102).value()) << "round";
  EXPECT_EQ(scrubber.counts().blobs, 2u);
  EXPECT_EQ(scrubber.counts().bytes, 300u);
  EXPECT_EQ(scrubber.counts().rounds, 1u);
  EXPECT_TRUE(scrubber.step(1).value()) << "from the front, and 200 are owed";
  EXPECT_EQ(scrubber.counts().blobs, 3u);
  EXPECT_TRUE(scrubber.step(150).value());
  EXPECT_TRUE(scrubber.step(50).value());
  EXPECT_EQ(scrubber.counts().blobs, 3u) << "paid";
  EXPECT_FALSE(scrubber.step(1000).value());
  EXPECT_EQ(scrubber.counts().blobs, 4u);
  EXPECT_EQ(scrubber.counts().rounds, 2u);
  EXPECT_EQ(scrubber.counts().damaged + scrubber.counts().mended + scrubber.counts().lost, 0u);
}

TEST_F(ScrubTest, passes_over_what_it_cannot_read_and_counts_what_is_lost) {
  ASSERT_TRUE(memory.commit({.changes = {{rows::row::blob("0"), "rubbish"}}}));
  const rows::Blob blob = put("k", 100);
  drives[0].under.files().clear();
  Scrubber scrubber(store);
  EXPECT_FALSE(scrubber.step(10'000).value());
  EXPECT_EQ(scrubber.counts().blobs, 1u);
  EXPECT_EQ(scrubber.counts().damaged, 1u);
  EXPECT_EQ(scrubber.counts().mended, 1u);
  EXPECT_EQ(scrubber.counts().lost, 0u);
  drives[0].under.files().clear();
  drives[1].under.files().clear();
  EXPECT_FALSE(scrubber.step(10'000).value());
  EXPECT_EQ(scrubber.counts().damaged, 3u);
  EXPECT_EQ(scrubber.counts().mended, 1u);
  EXPECT_EQ(scrubber.counts().lost, 1u);
}

TEST_F(ScrubTest, looks_only_for_the_header_on_another_machine) {
  const rows::Blob blob = put("k", 100);
  EXPECT_EQ(check_shards(store.setting().drives, blob).bytes, 200u);
  drives[0].far = true;
  EXPECT_EQ(check_shards(store.setting().drives, blob).bytes, 100u);
  drives[0].open_says = drives::Fault{drives::PortFault::busy, "not now"};
  drives[1].under.files().clear();
  const ShardCheck check = check_shards(store.setting().drives, blob);
  EXPECT_THAT(check.unasked, ElementsAre(1)) << "the first blob has its first shard on the second";
  EXPECT_THAT(check.damaged, ElementsAre(0));
  EXPECT_FALSE(check.lost);
  for (const bool deep : {false, true}) {
    const auto whole = check_store(store, deep);
    ASSERT_TRUE(whole);
    EXPECT_THAT(whole->faults, ElementsAre("a drive of blob " + blob.id +
                                           " does not answer: nothing is known of it"));
    EXPECT_EQ(whole->damaged_shards, 1u);
    EXPECT_EQ(whole->lost_blobs, 0u);
  }
}

TEST_F(ScrubTest, a_fault_of_the_rows_ends_the_mending) {
  const rows::Blob blob = put("k", 100);
  drives[1].under.files().clear();  // its first shard
  const auto refused_as = [&](int call) {
    rows.fail_at(call, drives::PortFault::busy);
    const auto mended = mend_blob(store, blob.id, {0});
    EXPECT_FALSE(store.pins().pinned(blob.id));
    return mended ? "mended" : mended.error().code;
  };
  EXPECT_EQ(refused_as(0), "SlowDown") << "the row is read";
  rows.come_late(1);
  const auto late = mend_blob(store, blob.id, {0});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->shards, 0);
  EXPECT_EQ(late->fault->what, "the blob was changed meanwhile");
  EXPECT_THAT(drives[1].under.files(), IsEmpty()) << "what it wrote is gone";
  EXPECT_EQ(mend_blob(store, blob.id, {0})->shards, 1);
  EXPECT_EQ(mend_blob(store, "none", {0})->shards, 0);
  EXPECT_FALSE(store.pins().pinned("none"));
  drives[1].under.files().clear();
  EXPECT_EQ(refused_as(1), "SlowDown") << "the row is changed";
}

}  // namespace
}  // namespace orrery::upkeep::shards_tests
