// The bytes of an object on drives: cut into stripes, each of k data blocks and m parity blocks;
// each block has a checksum, and each shard is a file.
//
//   shard file    header (64 bytes), blocks; NAME = BLOB.SHARD.REVISION
//   header        "orrery-shard 1 BLOB SHARD K+M BLOCK", blanks, CRC-32C of all that
//   block         up to `block_bytes` of data, CRC-32C (4 bytes, little-endian) of blob, shard,
//                 number of the block and data: an intact block in the wrong place is an error
//
// A stripe takes k x block_bytes of the object. In the last stripe the blocks are shorter, all of
// the same length, padded with zeros to k x length. If the store has a key, a block of data is
// encrypted (s3/cipher.h) and 16 bytes longer. Parity and checksums are computed over the stored
// bytes, so shards are checked and repaired without the key.
//
// A small blob has no files if its tier says so: its row holds the bytes, as the block that shard 0
// would have. Creating, syncing and removing a file costs more than a few bytes in a row that is
// synced anyway.
//
// A writer that ends without finish() leaves files that no row refers to; they are swept (sweep.h).
// A reader checks every block. If one is missing or wrong, it uses the others and reports the shard
// (`damaged`), which is then rebuilt (mend.h). With fewer than k intact blocks of a stripe it
// returns `corrupt`, or `busy` if missing drives may have them. It never returns bytes that are not
// the object's.
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

// The master keys by id. New blobs are encrypted with `current`; if that is empty, they are not
// encrypted.
struct KeyRing {
  std::string current = {};
  std::map<std::string, std::string> keys = {};
};

struct Tier {
  std::string name;
  drives::ShardPlan plan = {};
  std::vector<std::string> drives = {};
  std::size_t held_bytes_max = 0;  // size up to which the bytes of a blob are stored in its row
};

std::string shard_name(std::string_view blob, int shard, std::uint64_t revision);

struct ShardName {
  std::string blob;
  int shard = 0;
  std::uint64_t revision = 0;
};
std::optional<ShardName> shard_name_of(std::string_view file);  // nullopt if the file is not a
                                                                // shard
std::uint64_t run_of(std::string_view blob);  // Returns the run that wrote the blob.

class BlobWriter {
 public:
  // `first` selects the first drive, so that blobs are spread over all drives.
  BlobWriter(const DriveSet& drives, const Tier& tier, std::string id, std::uint64_t first,
             const KeyRing& keys = {});

  // Announces the size, if it is known, so that the drives can reserve space.
  void expect(std::uint64_t bytes) { expected_ = bytes; }
  drives::Outcome<void> append(std::string_view bytes);
  // Makes everything durable on all drives, except that up to `plan.parity / 2` shards may be
  // missing; those are rebuilt later.
  drives::Outcome<rows::Blob> finish();
  std::uint64_t size() const { return blob_.size; }
  // Returns the files written so far, so that an unfinished blob can be removed.
  const rows::Blob& so_far() const { return blob_; }

 private:
  // What a few stripes add to each shard file, and those of their bytes that are not views of the
  // caller's.
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
  std::uint64_t shard_bytes() const;  // size of each shard file, if the expected bytes arrive
  bool open_shard(std::size_t shard);

  const DriveSet& drives_;
  Tier tier_;
  rows::Blob blob_;
  std::vector<std::string> candidates_;  // drives that have not been tried yet
  std::vector<std::unique_ptr<drives::DriveFile>> files_;
  std::string stripe_;
  Batch batch_;
  std::vector<std::vector<std::string>>
      parities_;  // by stripe of the current batch, or of an earlier one
  std::optional<s3::BlockCipher> cipher_;
  std::uint64_t expected_ = 0;  // 0: unknown
  std::uint64_t stripes_ = 0;
  std::size_t lost_ = 0;
  drives::Fault why_;  // why no drive took the last shard
  bool opened_ = false;
};

class BlobReader {
 public:
  // Without its key an encrypted blob can be checked and repaired, but not read. With a hedger, the
  // blocks of a slow drive may be read from the other drives.
  BlobReader(const DriveSet& drives, rows::Blob blob, const KeyRing& keys = {},
             drives::Hedger* hedger = nullptr);

  // Reads from `offset` on and returns the number of bytes.
  drives::Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into);
  // Returns the correct block of one shard, from its file or computed from the others.
  drives::Outcome<std::string> block(int shard, std::uint64_t stripe);
  // Returns the block as stored on its drive; the fault says what is wrong with it.
  drives::Outcome<std::string> raw_block(int shard, std::uint64_t stripe);
  drives::Outcome<void> check_header(int shard);
  // Checks the bytes of a blob that are stored in its row.
  drives::Outcome<void> check_held() const;

  std::uint64_t stripes() const;
  const std::set<int>& damaged() const { return damaged_; }
  const rows::Blob& blob() const { return blob_; }

 private:
  std::size_t block_length(std::uint64_t stripe) const;
  std::size_t seal_length() const;
  // Checks the block in the buffer that it was read into; the view is valid until the next block is
  // read.
  drives::Outcome<std::string_view> checked_block(int shard, std::uint64_t stripe);
  // Reads the stored block directly to its destination. Returns false if it must be obtained in
  // another way.
  bool read_straight(int shard, std::uint64_t stripe, std::span<char> into);
  // Returns the block from its slow drive or computed from the others, whichever is ready first;
  // nullopt: read the drive as usual.
  std::optional<std::string> hedged_block(int shard, std::uint64_t stripe);
  std::shared_ptr<const drives::SlowRead> begin_slow(int shard, std::uint64_t stripe,
                                                     drives::Micros& delay);
  std::optional<std::string> right_block(int shard, std::uint64_t stripe,
                                         const drives::SlowRead& read);
  // Computes a block from k of the other shards, using only those that `asks` accepts.
  std::optional<std::string> from_others(int shard, std::uint64_t stripe,
                                         const std::function<bool(int)>& asks,
                                         std::optional<drives::Fault>& busy);
  void note_lost(int shard, const drives::Fault& why, std::optional<drives::Fault>& busy);
  template <class Read>
  drives::Outcome<std::size_t> timed(int shard, Read read);
  std::uint64_t place_of(std::uint64_t stripe) const;  // offset in a shard's file
  drives::Outcome<void> load(std::uint64_t stripe, char* into);
  drives::Outcome<void> load_held(char* into);
  drives::Outcome<drives::DriveFile*> file(int shard);
  void take_back(int shard);  // waits for the slow read and takes its file back

  const DriveSet& drives_;
  rows::Blob blob_;
  drives::Hedger* hedger_;
  std::vector<std::shared_ptr<drives::DriveFile>> files_;
  std::map<int, std::shared_ptr<const drives::SlowRead>> slow_;  // by shard: slow reads that are
                                                                 // using its file
  std::set<int> damaged_;
  std::set<std::string> away_;  // drives that are missing
  std::string stripe_;          // the stripe that was read in part
  std::string scratch_;         // buffer for a block with its checksum
  std::optional<s3::BlockCipher> cipher_;
  std::optional<std::uint64_t> loaded_;
};

// Writes one shard file again, computed from the others, to `drive`, and makes it durable.
drives::Outcome<void> write_shard(BlobReader& from, int shard, drives::Drive& drive,
                                  std::uint64_t revision);

}  // namespace orrery::store
