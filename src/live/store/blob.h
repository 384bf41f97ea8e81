// The bytes of an object on drives: cut into stripes, each of k data blocks and m of parity, a
// block with its checksum, a file a shard.
//
//   shard file    header (64 bytes), blocks; NAME = BLOB.SHARD.REVISION
//   header        "orrery-shard 1 BLOB SHARD K+M BLOCK", blanks, CRC-32C of all that
//   block         up to `block_bytes` of data, CRC-32C (4 bytes, little-endian) of blob, shard,
//                 number of the block and data: a block that is right but elsewhere is wrong
// A stripe takes k x block_bytes of the object; in the last one the blocks are shorter, all alike,
// padded with zeros to k x length. Where the store has a key, a block of data is enciphered
// (s3/cipher.h) and 16 bytes longer; parity and checksums are of what is stored, so shards are
// checked and mended without the key.
//
// A blob of a few bytes has no files where its tier says so: it stands in its row, as the block
// that shard 0 would have. Making, syncing and removing a file costs more than so few bytes do, and
// the row is synced anyway.
//
// A writer that ends without finish() leaves files that nothing refers to; they are collected
// (sweep.h). A reader checks every block; where one is missing or wrong it takes the others and
// says so (`damaged`), and a rebuild makes it anew (mend.h). With fewer than k good blocks of a
// stripe it says `corrupt`, or `busy` where drives are away that may have them, and never gives
// bytes that are not the object's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "live/drives/drive.h"
#include "live/drives/hedger.h"
#include "live/rows/records.h"
#include "live/s3/cipher.h"

namespace orrery::store {

inline constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
inline constexpr std::size_t kShardHeaderBytes = 64;

// The drives by name; null where one is known and not there.
using DriveSet = std::map<std::string, drives::Drive*>;

// The master keys by id; new blobs take `current`, empty: they are not enciphered.
struct KeyRing {
  std::string current = {};
  std::map<std::string, std::string> keys = {};
};

struct Tier {
  std::string name;
  drives::ShardPlan plan = {};
  std::vector<std::string> drives = {};
  std::size_t held_bytes_max = 0;  // up to so many bytes stand in the row of the blob
};

std::string shard_name(std::string_view blob, int shard, std::uint64_t revision);

struct ShardName {
  std::string blob;
  int shard = 0;
  std::uint64_t revision = 0;
};
std::optional<ShardName> shard_name_of(std::string_view file);  // nullopt: not one of ours
std::uint64_t run_of(std::string_view blob);                    // that wrote it: its name says so

class BlobWriter {
 public:
  // `first` rotates the drives, so that blobs spread over them.
  BlobWriter(const DriveSet& drives, const Tier& tier, std::string id, std::uint64_t first,
             const KeyRing& keys = {});

  // So many bytes will come, as far as is known: their places on the drives are found before them.
  void expect(std::uint64_t bytes) { expected_ = bytes; }
  drives::Outcome<void> append(std::string_view bytes);
  // All is durable then, on all drives but `plan.parity / 2` at the most: those are rebuilt later.
  drives::Outcome<rows::Blob> finish();
  std::uint64_t size() const { return blob_.size; }
  // Where its files lie so far, for whoever removes what will not be finished.
  const rows::Blob& so_far() const { return blob_; }

 private:
  // What some stripes put into one shard file, and the bytes of theirs that are not the caller's.
  struct Batch {
    std::vector<std::vector<std::string_view>> pieces = {};  // by shard
    std::deque<std::string> made = {};
    std::size_t stripes = 0;
  };
  drives::Outcome<void> open();
  drives::Outcome<void> add(std::string_view stripe);
  drives::Outcome<void> write();
  drives::Outcome<void> lose(std::size_t shard, const drives::Fault& why);
  rows::Blob held();
  std::uint64_t shard_bytes() const;  // of each file, if what is expected comes
  bool open_shard(std::size_t shard);

  const DriveSet& drives_;
  Tier tier_;
  rows::Blob blob_;
  std::vector<std::string> candidates_;  // drives not tried yet
  std::vector<std::unique_ptr<drives::DriveFile>> files_;
  std::string stripe_;
  Batch batch_;
  std::vector<std::vector<std::string>>
      parities_;  // by stripe of the batch: of this, or one before
  std::optional<s3::BlockCipher> cipher_;
  std::uint64_t expected_ = 0;  // 0: it is not known
  std::uint64_t stripes_ = 0;
  std::size_t lost_ = 0;
  drives::Fault why_;  // no drive took the last shard
  bool opened_ = false;
};

class BlobReader {
 public:
  // Without its key an enciphered blob can be checked and mended, not read. With a hedger what lies
  // on a slow drive may come from the others.
  BlobReader(const DriveSet& drives, rows::Blob blob, const KeyRing& keys = {},
             drives::Hedger* hedger = nullptr);

  // As many bytes from `offset` on as there are and fit.
  drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into);
  // The block of one shard as it should be stored, from itself or the others.
  drives::Outcome<std::string> block(int shard, std::uint64_t stripe);
  // The block as it stands on its drive; the fault says what is wrong with it.
  drives::Outcome<std::string> raw_block(int shard, std::uint64_t stripe);
  drives::Outcome<void> check_header(int shard);
  // Of a blob that stands in its row.
  drives::Outcome<void> check_held() const;

  std::uint64_t stripes() const;
  const std::set<int>& damaged() const { return damaged_; }
  const rows::Blob& blob() const { return blob_; }

 private:
  std::size_t block_length(std::uint64_t stripe) const;
  std::size_t seal_length() const;
  // Checks the block where it was read to; the view ends with the next.
  drives::Outcome<std::string_view> checked_block(int shard, std::uint64_t stripe);
  // The block as it is stored, to where it is wanted; false: it must be had in another way.
  bool read_straight(int shard, std::uint64_t stripe, std::span<char> into);
  // The block from its slow drive or from the others, whichever is there first; nullopt: the drive
  // is to be read as any.
  std::optional<std::string> hedged_block(int shard, std::uint64_t stripe);
  std::shared_ptr<const drives::SlowRead> begin_slow(int shard, std::uint64_t stripe,
                                                     drives::Micros& delay);
  std::optional<std::string> right_block(int shard, std::uint64_t stripe,
                                         const drives::SlowRead& read);
  // A block from k of the others, as far as `asks` wants them.
  std::optional<std::string> from_others(int shard, std::uint64_t stripe,
                                         const std::function<bool(int)>& asks,
                                         std::optional<drives::Fault>& busy);
  void note_lost(int shard, const drives::Fault& why, std::optional<drives::Fault>& busy);
  template <class Read>
  drives::Outcome<std::size_t> timed(int shard, Read read);
  std::uint64_t place_of(std::uint64_t stripe) const;  // in a shard's file
  drives::Outcome<void> load(std::uint64_t stripe, char* into);
  drives::Outcome<void> load_held(char* into);
  drives::Outcome<drives::DriveFile*> file(int shard);
  void take_back(int shard);  // its file from a slow read, which is waited for

  const DriveSet& drives_;
  rows::Blob blob_;
  drives::Hedger* hedger_;
  std::vector<std::shared_ptr<drives::DriveFile>> files_;
  std::map<int, std::shared_ptr<const drives::SlowRead>> slow_;  // by shard: its file is in use
  std::set<int> damaged_;
  std::set<std::string> away_;  // drives that are not there
  std::string stripe_;          // the one that was read in part
  std::string scratch_;         // a block with its checksum
  std::optional<s3::BlockCipher> cipher_;
  std::optional<std::uint64_t> loaded_;
};

// One shard file anew, from the others, on `drive`; durable then.
drives::Outcome<void> write_shard(BlobReader& from, int shard, drives::Drive& drive,
                                  std::uint64_t revision);

}  // namespace orrery::store
