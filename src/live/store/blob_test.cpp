// The bytes of objects on drives that lose and flip bits and fail: reads return the right bytes or
// a fault; and the shards as they are stored on the drives.
#include "live/store/blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "live/drives/scripted_drive_fixture.h"
#include "live/drives/simulated_drive_fixture.h"
#include "live/rows/records.h"

namespace orrery::store::blob_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Shelf {
  std::vector<std::unique_ptr<drives::SimulatedDrive>> drives;
  DriveSet set;
  Tier tier{"hot", {}, {}};

  Shelf(drives::ShardPlan plan, int count) {
    tier.plan = plan;
    for (int i = 0; i < count; ++i) {
      drives.push_back(std::make_unique<drives::SimulatedDrive>());
      tier.drives.push_back("d" + std::to_string(i));
      set[tier.drives.back()] = drives.back().get();
    }
  }
  drives::Outcome<rows::Blob> write(const std::string& bytes, const KeyRing& keys = {}) {
    BlobWriter writer(set, tier, "0000000100000000000000aa", 0, keys);
    // In pieces that fit no block.
    for (std::size_t at = 0; at < bytes.size(); at += 100'003) {
      if (auto done = writer.append(std::string_view(bytes).substr(at, 100'003)); !done) {
        return std::unexpected(done.error());
      }
    }
    return writer.finish();
  }
  std::optional<std::string> read(const rows::Blob& blob, std::set<int>* damaged = nullptr,
                                  const KeyRing& keys = {}) {
    BlobReader reader(set, blob, keys);
    std::string bytes(blob.size, '\0');
    const auto got = reader.read(0, bytes);
    if (damaged) *damaged = reader.damaged();
    if (!got || *got != bytes.size()) return std::nullopt;
    return bytes;
  }
};

std::string pattern(std::size_t bytes) {
  std::string out(bytes, '\0');
  std::uint32_t x = 1;
  for (char& c : out) {
    x = x * 1664525u + 1013904223u;
    c = static_cast<char>(x >> 24);
  }
  return out;
}

TEST(Blob, is_read_as_it_was_written) {
  for (const drives::ShardPlan plan : {drives::ShardPlan{1, 0}, drives::ShardPlan{1, 1},
                                       drives::ShardPlan{4, 2}, drives::ShardPlan{3, 3}}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{5}, kBlockBytes - 1, kBlockBytes,
                                   kBlockBytes * 4, kBlockBytes * 9 + 12345}) {
      Shelf shelf(plan, plan.total());
      const std::string bytes = pattern(size);
      const auto blob = shelf.write(bytes);
      ASSERT_TRUE(blob);
      EXPECT_EQ(shelf.read(*blob), bytes) << plan.data << '+' << plan.parity << ' ' << size;
      BlobReader reader(shelf.set, *blob);
      std::string some(std::min<std::size_t>(size, 1000), '\0');
      ASSERT_TRUE(reader.read(size - some.size(), some));
      EXPECT_EQ(some, bytes.substr(size - some.size()));
    }
  }
}

TEST(Blob, small_blobs_are_held_in_their_row) {
  const KeyRing ring{.current = "k1", .keys = {{"k1", std::string(32, 'k')}}};
  for (const KeyRing& keys : {KeyRing{}, ring}) {
    Shelf shelf({4, 2}, 6);
    shelf.tier.held_bytes_max = 1000;
    const std::string bytes = pattern(1000);
    const auto blob = shelf.write(bytes, keys);
    ASSERT_TRUE(blob);
    EXPECT_TRUE(blob->shards.empty());
    for (const auto& drive : shelf.drives) EXPECT_TRUE(drive->files().empty());
    const auto stored = rows::decode_blob(rows::encode(*blob));
    ASSERT_TRUE(stored);
    EXPECT_EQ(shelf.read(*stored, nullptr, keys), bytes);
    BlobReader reader(shelf.set, *stored, keys);
    std::string some(100, '\0');
    EXPECT_EQ(reader.read(950, some), 50u);
    EXPECT_EQ(some.substr(0, 50), bytes.substr(950));
    EXPECT_EQ(stored->held.find(bytes.substr(0, 100)) == std::string::npos, !keys.keys.empty());
    // Any flipped bit, a lost byte and another blob's bytes are detected.
    for (std::size_t at = 0; at < stored->held.size(); at += 7) {
      rows::Blob turned = *stored;
      turned.held[at] ^= 1;
      EXPECT_EQ(shelf.read(turned, nullptr, keys), std::nullopt) << at;
    }
    rows::Blob cut = *stored;
    cut.held.pop_back();
    EXPECT_EQ(shelf.read(cut, nullptr, keys), std::nullopt);
    rows::Blob other = *stored;
    other.id = "0000000100000000000000ab";
    EXPECT_EQ(shelf.read(other, nullptr, keys), std::nullopt);
    // With one more byte, the blob has files.
    const auto more = shelf.write(pattern(1001), keys);
    ASSERT_TRUE(more);
    EXPECT_TRUE(more->held.empty());
    EXPECT_EQ(more->shards.size(), 6u);
  }
}

TEST(Blob, as_many_losses_as_parity_are_survived) {
  const std::string bytes = pattern(kBlockBytes * 5 + 77);
  const drives::ShardPlan plan{4, 2};
  for (unsigned lost = 0; lost < 64; ++lost) {
    Shelf shelf(plan, 6);
    const auto blob = shelf.write(bytes);
    ASSERT_TRUE(blob);
    int losses = 0;
    for (unsigned i = 0; i < 6; ++i) {
      if (!(lost >> i & 1)) continue;
      shelf.drives[i]->files().clear();
      ++losses;
    }
    const auto read = shelf.read(*blob);
    if (losses <= 2) {
      EXPECT_EQ(read, bytes) << lost;
    } else if (read) {
      EXPECT_EQ(*read, bytes) << lost;  // the remaining shards include all data shards
    }
  }
}

TEST(Blob, any_flipped_bit_is_found_and_read_around) {
  const std::string bytes = pattern(3000);
  Shelf shelf({2, 1}, 3);
  const auto blob = shelf.write(bytes);
  ASSERT_TRUE(blob);
  auto& content = *shelf.drives[0]->files().begin()->second;
  for (std::size_t bit = 0; bit < content.bytes.size() * 8; ++bit) {
    content.bytes[bit / 8] = static_cast<char>(content.bytes[bit / 8] ^ (1 << bit % 8));
    BlobReader reader(shelf.set, *blob);
    const bool header = bit / 8 < kShardHeaderBytes;
    EXPECT_EQ(reader.check_header(0).has_value(), !header) << bit;
    EXPECT_EQ(reader.raw_block(0, 0).has_value(), header) << bit;
    if (bit % 97 == 0) {
      EXPECT_EQ(shelf.read(*blob), bytes) << bit;
    }
    content.bytes[bit / 8] = static_cast<char>(content.bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(Blob, a_damaged_only_copy_is_not_returned) {
  Shelf shelf({1, 0}, 1);
  const auto blob = shelf.write(pattern(1000));
  ASSERT_TRUE(blob);
  shelf.drives[0]->files().begin()->second->bytes[200] ^= 1;
  EXPECT_FALSE(shelf.read(*blob));
}

TEST(Blob, a_write_avoids_broken_drives_and_fails_if_too_few_are_left) {
  Shelf shelf({4, 2}, 7);
  shelf.drives[2]->broken = true;
  const std::string bytes = pattern(200'000);
  const auto blob = shelf.write(bytes);
  ASSERT_TRUE(blob);  // the seventh drive replaced it
  for (const rows::ShardPlace& place : blob->shards) EXPECT_NE(place.drive, "d2");
  shelf.drives[3]->broken = true;
  const auto without = shelf.write(bytes);
  EXPECT_FALSE(without) << "the name is taken, and only new names are written";

  Shelf small({4, 2}, 6);
  small.drives[0]->broken = true;
  const auto degraded = small.write(bytes);  // one of two parities may be missing
  ASSERT_TRUE(degraded);
  EXPECT_EQ(small.read(*degraded), bytes);
  Shelf smaller({4, 2}, 6);
  smaller.drives[0]->broken = smaller.drives[1]->broken = true;
  EXPECT_FALSE(smaller.write(bytes));
}

TEST(Blob, a_lost_shard_can_be_rewritten) {
  Shelf shelf({4, 2}, 6);
  const std::string bytes = pattern(kBlockBytes * 6 + 5);
  auto blob = shelf.write(bytes);
  ASSERT_TRUE(blob);
  shelf.drives[1]->files().clear();
  BlobReader from(shelf.set, *blob);
  ASSERT_TRUE(write_shard(from, 1, *shelf.drives[1], 1));
  blob->shards[1].revision = 1;
  std::set<int> damaged;
  EXPECT_EQ(shelf.read(*blob, &damaged), bytes);
  EXPECT_TRUE(damaged.empty());
}

TEST(Blob, encrypted_blobs_are_unreadable_without_their_key_and_mended_without_it) {
  const KeyRing keys{.current = "k1", .keys = {{"k1", std::string(32, 'm')}}};
  const std::string bytes = pattern(kBlockBytes * 4 * 2 + 777) + "a text that is easy to find";
  for (const drives::ShardPlan plan : {drives::ShardPlan{1, 1}, drives::ShardPlan{4, 2}}) {
    Shelf shelf(plan, plan.total());
    const auto blob = shelf.write(bytes, keys);
    ASSERT_TRUE(blob);
    EXPECT_EQ(blob->key_id, "k1");
    for (const auto& drive : shelf.drives) {
      for (const auto& [name, content] : drive->files()) {
        EXPECT_EQ(content->bytes.find("easy to find"), std::string::npos);
      }
    }
    EXPECT_EQ(shelf.read(*blob, nullptr, keys), bytes);
    EXPECT_EQ(shelf.read(*blob), std::nullopt);
    KeyRing other = keys;
    other.keys["k1"] = std::string(32, 'n');
    EXPECT_EQ(shelf.read(*blob, nullptr, other), std::nullopt);
    // A lost shard is rebuilt without the key.
    shelf.drives[0]->broken = true;
    EXPECT_EQ(shelf.read(*blob, nullptr, keys), bytes);
    shelf.drives[0]->broken = false;
    rows::Blob mended = *blob;
    BlobReader from(shelf.set, *blob);
    ASSERT_TRUE(write_shard(from, 0, *shelf.drives[0], 1));
    mended.shards[0].revision = 1;
    EXPECT_EQ(shelf.read(mended, nullptr, keys), bytes);
  }
}

constexpr const char* kBlob = "0000000b00000000000000ff";

constexpr std::uint64_t kBlock = 65'536;

class BlobBlocks : public testing::Test {
 protected:
  // Writes `bytes` bytes under `plan`; byte i is a mix of the bits of i.
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
  // How often each drive was read since the last call.
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

TEST_F(BlobBlocks, only_as_many_other_shards_are_read_as_needed) {
  const rows::Blob blob = written({2, 2}, 2 * kBlock);
  bytes_of(0)[70] ^= 1;
  BlobReader reader(set, blob);
  expect_bytes(reader, 0, 2 * kBlock);
  const std::vector<int> counts = reads();
  EXPECT_EQ(counts[0], 4) << "block and checksum in one read, and once more before the others";
  EXPECT_EQ(counts[2], 1) << "one read of the parity";
  EXPECT_EQ(counts[3], 0) << "the other drive is not needed";
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

TEST_F(BlobBlocks, sizes_around_a_stripe_are_read_at_every_border) {
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
      // A header, then the blocks, each with its checksum and, if encrypted, its tag.
      const std::uint64_t rest = bytes % (3 * kBlock);
      const std::uint64_t besides = sealed ? 20 : 4;
      EXPECT_EQ(bytes_of(3).size(), 64 + bytes / (3 * kBlock) * (kBlock + besides) +
                                        (rest > 0 ? (rest + 2) / 3 + besides : 0))
          << bytes;
      for (int shard = 0; shard < 4; ++shard) {
        EXPECT_TRUE(reader.check_header(shard));
        EXPECT_TRUE(reader.raw_block(shard, reader.stripes() - 1));
        EXPECT_FALSE(reader.raw_block(shard, reader.stripes())) << "after the last block";
      }
      EXPECT_THAT(reader.damaged(), IsEmpty());
    }
  }
}

TEST_F(BlobBlocks, every_byte_of_a_header_is_checked) {
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
  EXPECT_FALSE(BlobReader(set, other).check_header(1)) << "its header gives the length of its "
                                                          "blocks";
  EXPECT_EQ(all.substr(0, 60), "orrery-shard 1 0000000b00000000000000ff 01 1+1 65536        ");
}

TEST_F(BlobBlocks, writers_start_with_each_drive_in_turn) {
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

// Half of the parity may be missing when a write ends: two of 4, one of 3, none of 1.
TEST_F(BlobBlocks, a_write_succeeds_without_half_of_its_parity) {
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

TEST(ShardNames, parse_back_to_blob_shard_and_revision) {
  EXPECT_EQ(shard_name("blob", 7, 12), "blob.07.12");
  const auto name = shard_name_of("blob.31.12");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->blob, "blob");
  EXPECT_EQ(name->shard, 31);
  EXPECT_EQ(name->revision, 12u);
  EXPECT_TRUE(shard_name_of("b.00.0"));
  for (const char* bad :
       {"b.32.0", "b.-1.0", "b.00.-1", ".00.0", "b.00", "b.00.0.0", "b.x.0", "b.00.x", "drive"}) {
    EXPECT_FALSE(shard_name_of(bad)) << bad;
  }
  EXPECT_EQ(run_of("0000001a00000000000000ff"), 26u);
  EXPECT_EQ(run_of("rubbish"), 0u);
  EXPECT_EQ(run_of(""), 0u);
}

// A header of 64 bytes, then per stripe a block of 64 KiB, four bytes of checksum, and 16 bytes of
// tag if it is encrypted. With two data shards a stripe holds 131072 bytes.
TEST(BlobShards, announce_their_exact_size) {
  KeyRing keys;
  keys.current = "k";
  keys.keys["k"] = std::string(32, 'k');
  const auto announced = [](std::uint64_t bytes, const KeyRing& ring) {
    drives::ScriptedDrive drives[2];
    const DriveSet set = {{"a", &drives[0]}, {"b", &drives[1]}};
    BlobWriter writer(set, {"hot", {2, 0}, {"a", "b"}}, kBlob, 0, ring);
    writer.expect(bytes);
    EXPECT_TRUE(writer.append(std::string(bytes, 'x')));
    EXPECT_TRUE(writer.finish());
    EXPECT_EQ(drives[0].record.bytes, drives[1].record.expected.at(0)) << "no more and no less";
    EXPECT_EQ(drives[0].record.open, 0) << "they are closed, though the writer lives";
    return drives[0].record.expected.at(0);
  };
  // 300000 = 2 x 131072 + 37856: 64 + 2 (65536 + 4) + 18928 + 4.
  EXPECT_EQ(announced(300'000, {}), 150'076u);
  EXPECT_EQ(announced(300'000, keys), 150'076u + 3 * 16);
  EXPECT_EQ(announced(393'216, {}), 64u + 3 * 65'540);
  EXPECT_EQ(announced(1, {}), 64u + 1 + 4) << "padded to one byte each";
  drives::ScriptedDrive drive;
  const DriveSet set = {{"a", &drive}};
  BlobWriter unknown(set, {"hot", {1, 0}, {"a"}}, kBlob, 0);
  EXPECT_TRUE(unknown.append("x") && unknown.finish());
  EXPECT_THAT(drive.record.expected, IsEmpty()) << "nothing is known about the drive";
}

TEST(BlobShards, a_writer_returns_the_fault_of_the_drives) {
  const auto said = [](drives::ScriptedDrive* drive) {
    const DriveSet set = {{"a", drive}};
    BlobWriter writer(set, {"hot", {1, 0}, {"a"}}, kBlob, 0);
    const auto done = writer.append(std::string(kBlockBytes, 'x'));
    return done ? drives::Fault{} : done.error();
  };
  drives::ScriptedDrive drive;
  drive.append_fault = drives::Fault{drives::PortFault::full, "no room"};
  EXPECT_EQ(said(&drive).kind, drives::PortFault::full);
  EXPECT_EQ(said(&drive).what, "no room");
  EXPECT_THAT(drive.under.files(), IsEmpty()) << "its file is gone";
  drive.create_fault = drives::Fault{drives::PortFault::busy, "not now"};
  EXPECT_EQ(said(&drive).kind, drives::PortFault::busy);
  EXPECT_EQ(said(nullptr).kind, drives::PortFault::busy) << "that drive may come back";
  EXPECT_TRUE(said(nullptr).what.ends_with(": a")) << said(nullptr).what;
  drives::ScriptedDrive good;
  const DriveSet set = {{"a", nullptr}, {"c", &good}};
  BlobWriter round(set, {"hot", {1, 0}, {"a", "b", "c"}}, kBlob, 0);
  ASSERT_TRUE(round.append("x"));
  EXPECT_EQ(round.finish()->shards.at(0).drive, "c");
}

TEST(BlobShards, a_reader_tells_missing_drives_from_damage) {
  drives::ScriptedDrive drives[2];
  const DriveSet set = {{"a", &drives[0]}, {"b", &drives[1]}};
  KeyRing keys;
  keys.current = "k";
  keys.keys["k"] = std::string(32, 'k');
  BlobWriter writer(set, {"hot", {1, 1}, {"a", "b"}}, kBlob, 0, keys);
  ASSERT_TRUE(writer.append("bytes"));
  const rows::Blob blob = *writer.finish();
  std::string into(5, '?');
  EXPECT_FALSE(BlobReader(set, blob).read(0, into)) << "the key was not given";
  const DriveSet half = {{"a", &drives[0]}, {"b", nullptr}};

  EXPECT_EQ(BlobReader(half, blob).check_header(1).error().kind, drives::PortFault::missing);
  EXPECT_TRUE(BlobReader(half, blob).check_header(0));
  // A drive that does not answer may have its shard, so this is not damage.
  drives[0].open_fault = drives[1].open_fault = drives::Fault{drives::PortFault::busy, "not now"};
  BlobReader away(set, blob, keys);
  const auto got = away.read(0, into);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, drives::PortFault::busy);
  EXPECT_THAT(away.damaged(), IsEmpty());
  drives[0].open_fault = drives::Fault{drives::PortFault::missing, "none"};
  BlobReader mixed(set, blob, keys);
  EXPECT_EQ(mixed.read(0, into).error().kind, drives::PortFault::busy);
  EXPECT_THAT(mixed.damaged(), ElementsAre(0));
  drives[1].open_fault = drives::Fault{drives::PortFault::failed, "broken"};
  EXPECT_EQ(BlobReader(set, blob, keys).read(0, into).error().kind, drives::PortFault::corrupt);
}

}  // namespace
}  // namespace orrery::store::blob_tests
