// The bytes of an object on drives: cut into stripes, each of k data blocks and m of parity, a
// block with its checksum, a file a shard.
//
//   shard file    header (64 bytes), blocks; NAME = BLOB.SHARD.REVISION
//   header        "orrery-shard 1 BLOB SHARD K+M BLOCK", blanks, CRC-32C of all that
//   block         up to `block_bytes` of data, CRC-32C (4 bytes, little-endian) of blob, shard,
//                 number of the block and data: a block that is right but elsewhere is wrong
// A stripe takes k x block_bytes of the object; in the last one the blocks are shorter, all alike,
// padded with zeros to k x length. If the store has a key, a block of data is encrypted
// (s3/cipher.h) and 16 bytes longer; parity and checksums are of what is stored, so shards are
// checked and mended without the key.
//
// A small blob has no files if its tier says so: its row holds it, as the block that shard 0 would
// have. Making, syncing and removing a file costs more than a few bytes in a row that is synced
// anyway.
//
// A writer that ends without finish() leaves files that no row names; they are swept (sweep.h). A
// reader checks every block; if one is missing or wrong it uses the others and reports it
// (`damaged`), and the shard is written again (mend.h). With fewer than k good blocks of a stripe
// it returns `corrupt`, or `busy` if missing drives may have them, and never bytes that are not the
// object's.
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

// The drives by name; null if a drive is missing.
using DriveSet = std::map<std::string, drives::Drive*>;

// The master keys by id. New blobs are encrypted with `current`; empty: not encrypted.
struct KeyRing {
  std::string current = {};
  std::map<std::string, std::string> keys = {};
};

struct Tier {
  std::string name;
  drives::ShardPlan plan = {};
  std::vector<std::string> drives = {};
  std::size_t held_bytes_max = 0;  // size up to which a blob is held in its row
};

std::string shard_name(std::string_view blob, int shard, std::uint64_t revision);

struct ShardName {
  std::string blob;
  int shard = 0;
  std::uint64_t revision = 0;
};
std::optional<ShardName> shard_name_of(std::string_view file);  // nullopt: no shard file
std::uint64_t run_of(std::string_view blob);  // Returns the run that wrote the blob.

class BlobWriter {
 public:
  // `first` rotates the drives, so that blobs spread over them.
  BlobWriter(const DriveSet& drives, const Tier& tier, std::string id, std::uint64_t first,
             const KeyRing& keys = {});

  // Announces the size, if it is known, so that the drives can reserve room.
  void expect(std::uint64_t bytes) { expected_ = bytes; }
  drives::Outcome<void> append(std::string_view bytes);
  // Makes everything durable, on all drives but at most `plan.parity / 2`: those are mended later.
  drives::Outcome<rows::Blob> finish();
  std::uint64_t size() const { return blob_.size; }
  // The files written so far, so that an unfinished blob can be removed.
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
  // Without its key an encrypted blob can be checked and mended, but not read. With a hedger the
  // blocks of a slow drive may be read from the others.
  BlobReader(const DriveSet& drives, rows::Blob blob, const KeyRing& keys = {},
             drives::Hedger* hedger = nullptr);

  // Reads from `offset` on; returns the number of bytes.
  drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into);
  // Returns the block of one shard as it should be stored, from its file or from the others.
  drives::Outcome<std::string> block(int shard, std::uint64_t stripe);
  // Returns the block as it is on its drive; the fault says what is wrong with it.
  drives::Outcome<std::string> raw_block(int shard, std::uint64_t stripe);
  drives::Outcome<void> check_header(int shard);
  // Checks the bytes of a blob that its row holds.
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

// Writes one shard file again, from the others, on `drive`, and makes it durable.
drives::Outcome<void> write_shard(BlobReader& from, int shard, drives::Drive& drive,
                                  std::uint64_t revision);

}  // namespace orrery::store
