// Which blocks of which drives a read takes, what it keeps, and what it says of a block, a header
// or a row that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "live/drives/simulated_drive_fixture.h"
#include "live/store/blob.h"

namespace orrery::store::blocks_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kBlob = "0000000b00000000000000ff";
constexpr std::uint64_t kBlock = 65'536;

class BlocksTest : public testing::Test {
 protected:
  // Of so many bytes, cut as `plan` says; byte i is a mix of i's bits.
  rows::Blob written(drives::ShardPlan plan, std::uint64_t bytes, const KeyRing& keys = {},
                     std::size_t held_max = 0) {
    drives.clear();
    set.clear();
    Tier tier{"hot", plan, {}, held_max};
    for (int i = 0; i < plan.total(); ++i) {
      drives.push_back(std::make_unique<drives::SimulatedDrive>());
      tier.drives.push_back("d" + std::to_string(i));
      set[tier.drives.back()] = drives.back().get();
    }
    whole.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) whole[i] = static_cast<char>((i * 131) ^ (i >> 9));
    BlobWriter writer(set, tier, kBlob, 0, keys);
    EXPECT_TRUE(writer.append(whole));
    auto blob = writer.finish();
    EXPECT_TRUE(blob);
    return blob ? *blob : rows::Blob{};
  }
  void expect_bytes(BlobReader& reader, std::uint64_t offset, std::size_t count) {
    std::string got(count, '?');
    const auto some = reader.read(offset, got);
    ASSERT_TRUE(some) << some.error().what;
    const std::string right = whole.substr(std::min<std::size_t>(offset, whole.size()), count);
    EXPECT_EQ(*some, right.size());
    got.resize(*some);
    EXPECT_TRUE(got == right) << offset << '+' << count;
  }
  // How often each drive was read since the last time.
  std::vector<int> reads() {
    std::vector<int> counts;
    for (const auto& drive : drives) counts.push_back(drive->reads.exchange(0));
    return counts;
  }
  std::string& bytes_of(int shard) {
    return drives[static_cast<std::size_t>(shard)]->files().at(shard_name(kBlob, shard, 0))->bytes;
  }

  std::vector<std::unique_ptr<drives::SimulatedDrive>> drives;
  DriveSet set;
  std::string whole;
};

// A block and its checksum are two reads of this drive.
TEST_F(BlocksTest, a_stripe_that_was_read_in_part_is_kept) {
  const rows::Blob blob = written({2, 1}, 4 * kBlock + 10);
  BlobReader reader(set, blob);
  EXPECT_EQ(reader.stripes(), 3u);
  expect_bytes(reader, 0, 1);
  EXPECT_THAT(reads(), ElementsAre(2, 2, 0));
  expect_bytes(reader, 1, 2 * kBlock - 1);
  expect_bytes(reader, 0, 2 * kBlock);
  EXPECT_THAT(reads(), ElementsAre(0, 0, 0)) << "it is there";
  expect_bytes(reader, 2 * kBlock, 2 * kBlock);
  EXPECT_THAT(reads(), ElementsAre(2, 2, 0)) << "a whole one goes to where it is wanted";
  expect_bytes(reader, 5, 1);
  EXPECT_THAT(reads(), ElementsAre(0, 0, 0)) << "the first is still kept";
  expect_bytes(reader, 4 * kBlock, 100);
  EXPECT_THAT(reads(), ElementsAre(2, 2, 0)) << "the last, of ten bytes";
  expect_bytes(reader, 4 * kBlock + 10, 1);
  expect_bytes(reader, 9 * kBlock, 1);
  EXPECT_THAT(reads(), ElementsAre(0, 0, 0)) << "there is nothing behind the end";
  expect_bytes(reader, 0, 1);
  EXPECT_THAT(reads(), ElementsAre(2, 2, 0)) << "one is kept, not two";
  expect_bytes(reader, 0, 9 * kBlock);
  EXPECT_THAT(reads(), ElementsAre(4, 4, 0)) << "the first is kept, the others are read";
}

TEST_F(BlocksTest, as_many_others_are_read_as_are_needed) {
  const rows::Blob blob = written({2, 2}, 2 * kBlock);
  bytes_of(0)[70] ^= 1;
  BlobReader reader(set, blob);
  expect_bytes(reader, 0, 2 * kBlock);
  const std::vector<int> counts = reads();
  EXPECT_EQ(counts[0], 4) << "with its checksum, in one, and once more before the others";
  EXPECT_EQ(counts[2], 1) << "one of the parity";
  EXPECT_EQ(counts[3], 0) << "the other is not needed";
  EXPECT_THAT(reader.damaged(), ElementsAre(0));
  bytes_of(2).resize(70);
  BlobReader again(set, blob);
  expect_bytes(again, 0, 2 * kBlock);
  EXPECT_EQ(reads()[3], 1);
  EXPECT_THAT(again.damaged(), ElementsAre(0, 2));
  drives[3]->broken = true;
  BlobReader last(set, blob);
  std::string got(10, '?');
  const auto none = last.read(0, got);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, drives::PortFault::corrupt);
  EXPECT_THAT(last.damaged(), ElementsAre(0, 2, 3));
}

TEST_F(BlocksTest, sizes_around_a_stripe_are_read_at_every_border) {
  const KeyRing keys{"k", {{"k", std::string(32, 'k')}}};
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, 3 * kBlock - 1, 3 * kBlock,
        3 * kBlock + 1, 3 * kBlock + 2, 3 * kBlock + 4, 6 * kBlock}) {
    for (const bool sealed : {false, true}) {
      const KeyRing ring = sealed ? keys : KeyRing{};
      const rows::Blob blob = written({3, 1}, bytes, ring);
      EXPECT_EQ(blob.size, bytes);
      EXPECT_EQ(blob.key_id, sealed ? "k" : "");
      BlobReader reader(set, blob, ring);
      EXPECT_EQ(reader.stripes(), (bytes + 3 * kBlock - 1) / (3 * kBlock));
      expect_bytes(reader, 0, bytes + 5);
      expect_bytes(reader, bytes - 1, 1);
      expect_bytes(reader, bytes / 2, 7);
      // A header, the blocks, each with its checksum and, enciphered, its seal.
      const std::uint64_t rest = bytes % (3 * kBlock);
      const std::uint64_t besides = sealed ? 20 : 4;
      EXPECT_EQ(bytes_of(3).size(), 64 + bytes / (3 * kBlock) * (kBlock + besides) +
                                        (rest > 0 ? (rest + 2) / 3 + besides : 0))
          << bytes;
      for (int shard = 0; shard < 4; ++shard) {
        EXPECT_TRUE(reader.check_header(shard));
        EXPECT_TRUE(reader.raw_block(shard, reader.stripes() - 1));
        EXPECT_FALSE(reader.raw_block(shard, reader.stripes())) << "behind the last";
      }
      EXPECT_THAT(reader.damaged(), IsEmpty());
    }
  }
}

TEST_F(BlocksTest, a_header_is_right_to_the_last_byte) {
  const rows::Blob blob = written({1, 1}, 10);
  for (std::size_t at = 0; at < kShardHeaderBytes; ++at) {
    bytes_of(1)[at] ^= 4;
    EXPECT_EQ(BlobReader(set, blob).check_header(1).error().kind, drives::PortFault::corrupt) << at;
    bytes_of(1)[at] ^= 4;
  }
  EXPECT_TRUE(BlobReader(set, blob).check_header(1));
  BlobReader opened(set, blob);
  ASSERT_TRUE(opened.raw_block(1, 0));
  drives[1]->broken = true;
  EXPECT_EQ(opened.check_header(1).error().kind, drives::PortFault::failed) << "it cannot be read";
  EXPECT_EQ(opened.raw_block(1, 0).error().kind, drives::PortFault::failed);
  drives[1]->broken = false;
  const std::string all = bytes_of(1);
  bytes_of(1).resize(63);
  EXPECT_FALSE(BlobReader(set, blob).check_header(1));
  bytes_of(1) = all;
  rows::Blob other = blob;
  other.block_bytes = 4096;
  EXPECT_FALSE(BlobReader(set, other).check_header(1)) << "it says how long its blocks are";
  EXPECT_EQ(all.substr(0, 60), "orrery-shard 1 0000000b00000000000000ff 01 1+1 65536        ");
}

// What stands in a row: the bytes, sixteen of seal where it is enciphered, four of checksum.
TEST_F(BlocksTest, few_bytes_in_a_row_are_checked) {
  const KeyRing keys{"k", {{"k", std::string(32, 'k')}}};
  for (const bool sealed : {false, true}) {
    const KeyRing ring = sealed ? keys : KeyRing{};
    rows::Blob blob = written({2, 1}, 100, ring, 100);
    EXPECT_EQ(blob.held.size(), sealed ? 120u : 104u);
    EXPECT_THAT(blob.shards, IsEmpty());
    for (const auto& drive : drives) EXPECT_TRUE(drive->files().empty());
    BlobReader reader(set, blob, ring);
    EXPECT_TRUE(reader.check_held());
    expect_bytes(reader, 0, 100);
    expect_bytes(reader, 99, 5);
    expect_bytes(reader, 100, 5);
    for (const std::size_t at : {std::size_t{0}, std::size_t{99}, blob.held.size() - 1}) {
      rows::Blob wrong = blob;
      wrong.held[at] ^= 1;
      EXPECT_EQ(BlobReader(set, wrong, ring).check_held().error().kind, drives::PortFault::corrupt);
      std::string got(1, '?');
      EXPECT_FALSE(BlobReader(set, wrong, ring).read(0, got));
    }
    rows::Blob cut = blob;
    cut.held.pop_back();
    EXPECT_FALSE(BlobReader(set, cut, ring).check_held());
    rows::Blob more = blob;
    more.held += 'x';
    EXPECT_FALSE(BlobReader(set, more, ring).check_held());
    rows::Blob sized = blob;
    sized.size = 99;
    EXPECT_FALSE(BlobReader(set, sized, ring).check_held());
  }
  EXPECT_FALSE(written({2, 1}, 101, {}, 100).shards.empty()) << "a byte too many";
  EXPECT_EQ(written({2, 1}, 0, {}, 100).shards.size(), 3u) << "nothing is not few";
}

TEST_F(BlocksTest, a_writer_begins_with_another_drive_each_time) {
  Tier tier{"hot", {1, 0}, {"a", "b", "c"}};
  drives::SimulatedDrive a, b, c;
  const DriveSet three = {{"a", &a}, {"b", &b}, {"c", &c}};
  const auto drive = [&](std::uint64_t first) {
    BlobWriter writer(three, tier, kBlob, first);
    EXPECT_TRUE(writer.append("x"));
    const std::string name = writer.finish()->shards.at(0).drive;
    for (drives::SimulatedDrive* one : {&a, &b, &c}) one->files().clear();
    return name;
  };
  EXPECT_EQ(drive(0), "a");
  EXPECT_EQ(drive(1), "b");
  EXPECT_EQ(drive(2), "c");
  EXPECT_EQ(drive(3), "a");
  EXPECT_EQ(drive(7), "b");
}

// Half of the parity may be missing when a write ends: of 4 two, of 3 one, of 1 none.
TEST_F(BlocksTest, a_write_goes_on_without_half_of_its_parity) {
  const auto survives = [&](drives::ShardPlan plan, int lost) {
    written(plan, 10);
    Tier tier{"hot", plan, {}};
    for (int i = 0; i < plan.total(); ++i) {
      tier.drives.push_back("d" + std::to_string(i));
      drives[static_cast<std::size_t>(i)]->files().clear();
      drives[static_cast<std::size_t>(i)]->broken = i < lost;
    }
    BlobWriter writer(set, tier, kBlob, 0);
    const bool good = writer.append(std::string(10, 'x')) && writer.finish();
    int named = 0;
    for (const rows::ShardPlace& shard : writer.so_far().shards)
      named += shard.drive.empty() ? 0 : 1;
    if (good) EXPECT_EQ(named, plan.total() - lost);
    return good;
  };
  EXPECT_TRUE(survives({2, 4}, 2));
  EXPECT_FALSE(survives({2, 4}, 3));
  EXPECT_TRUE(survives({2, 3}, 1));
  EXPECT_FALSE(survives({2, 3}, 2));
  EXPECT_TRUE(survives({2, 1}, 0));
  EXPECT_FALSE(survives({2, 1}, 1));
}

}  // namespace
}  // namespace orrery::store::blocks_tests
