// The bytes of objects on drives that lose and flip: what is read is right, or is not given.
#include "live/store/blob.h"

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "live/drives/simulated_drive_fixture.h"

namespace orrery::store {
namespace {

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

TEST(Blob, of_few_bytes_stands_in_its_row) {
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
    // No bit of it can turn unseen, nor can it be cut.
    for (std::size_t at = 0; at < stored->held.size(); at += 7) {
      rows::Blob turned = *stored;
      turned.held[at] ^= 1;
      EXPECT_EQ(shelf.read(turned, nullptr, keys), std::nullopt) << at;
    }
    rows::Blob cut = *stored;
    cut.held.pop_back();
    EXPECT_EQ(shelf.read(cut, nullptr, keys), std::nullopt);
    // Another blob's bytes are not this one's.
    rows::Blob other = *stored;
    other.id = "0000000100000000000000ab";
    EXPECT_EQ(shelf.read(other, nullptr, keys), std::nullopt);
    // One byte more has files.
    const auto more = shelf.write(pattern(1001), keys);
    ASSERT_TRUE(more);
    EXPECT_TRUE(more->held.empty());
    EXPECT_EQ(more->shards.size(), 6u);
  }
}

TEST(Blob, any_losses_up_to_the_parity_are_survived_and_no_more_give_nothing) {
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
      EXPECT_EQ(*read, bytes) << lost;  // the data shards were among those left
    }
  }
}

TEST(Blob, a_flipped_bit_anywhere_is_found_and_mended) {
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

TEST(Blob, one_copy_with_a_flipped_bit_is_not_given) {
  Shelf shelf({1, 0}, 1);
  const auto blob = shelf.write(pattern(1000));
  ASSERT_TRUE(blob);
  shelf.drives[0]->files().begin()->second->bytes[200] ^= 1;
  EXPECT_FALSE(shelf.read(*blob));
}

TEST(Blob, a_write_goes_round_a_broken_drive_and_says_when_too_few_are_left) {
  Shelf shelf({4, 2}, 7);
  shelf.drives[2]->broken = true;
  const std::string bytes = pattern(200'000);
  const auto blob = shelf.write(bytes);
  ASSERT_TRUE(blob);  // the seventh took its place
  for (const rows::ShardPlace& place : blob->shards) EXPECT_NE(place.drive, "d2");
  shelf.drives[3]->broken = true;
  const auto without = shelf.write(bytes);
  EXPECT_FALSE(without) << "the name is taken: only fresh names are written";

  Shelf small({4, 2}, 6);
  small.drives[0]->broken = true;
  const auto degraded = small.write(bytes);  // one of two parities may be missing
  ASSERT_TRUE(degraded);
  EXPECT_EQ(small.read(*degraded), bytes);
  Shelf smaller({4, 2}, 6);
  smaller.drives[0]->broken = smaller.drives[1]->broken = true;
  EXPECT_FALSE(smaller.write(bytes));
}

TEST(Blob, a_full_drive_says_so) {
  Shelf shelf({1, 0}, 1);
  shelf.drives[0]->capacity = 100'000;
  const auto blob = shelf.write(pattern(300'000));
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().kind, drives::PortFault::full);
}

TEST(Blob, a_lost_shard_is_written_anew) {
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

TEST(Blob, enciphered_is_unreadable_without_its_key_and_mended_without_it) {
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
    // A lost shard is made anew by whoever has no key.
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

}  // namespace
}  // namespace orrery::store
