// A store in a folder: what stands where, written down once and read by every run.
//
//   FOLDER/store        "orrery-store 4", the id, a line a tier, a line a drive
//   FOLDER/metadata/    RocksDB, where the file names no database
//   metadata postgresql://USER@HOST/NAME         rows that several gateways share
//   FOLDER/TIER/        a drive (folder_drive.h), where none was named
//   tier hot 4+2        4 of data and 2 of parity; 1+1 is two copies
//   drive hot-0 /mnt/a  of the tier above it; a path that is not absolute lies in FOLDER
//   drive cold-0 s3+https://HOST/BUCKET/PREFIX   in another object store (s3_drive.h)
//   drive hot-0 rados:POOL/NAMESPACE             in a RADOS pool (rados_drive.h)
//   FOLDER/spool/       files on their way there; they have no names
//   FOLDER/sealed       the metadata's files as an orderly stop left them (seal.h)
//   FOLDER/manifest     how far RocksDB's list of tables had come (manifest_note.h)
// The id is in the metadata and on every drive too, and all are compared before anything is written
// (identity.h): an open that is refused leaves everything as it was.
// The number behind "orrery-store" is the format's. A later program opens an earlier format and
// writes the number it has made of it; an earlier one refuses a later number. Format 2 has copies
// in other tiers and enciphered blobs, format 3 extents whose ETag is no MD5 (quick_etag.h), format
// 4 blobs that stand in their rows; an earlier program would hold both for damaged. What formats 1
// to 3 wrote is read as it is.
#pragma once

#include <functional>
#include <memory>

#include "core/base/diagnostic.h"
#include "live/drives/s3_drive.h"
#include "live/store/reserve.h"
#include "live/store/seal.h"
#include "live/store/store.h"
#include "live/store/witness.h"
#include "live/upkeep/folder_lock.h"

namespace orrery::upkeep {

inline constexpr int kStoreFormat = 4;

struct TierPlan {
  std::string name;
  drives::ShardPlan plan = {};
  std::vector<std::string> folders = {};  // of its drives; none: one, named as the tier
};

// "hot=4+2:/mnt/a,/mnt/b,...", "warm=2x:/mnt/a,/mnt/b", "cold=1x:s3+https://HOST/BUCKET",
// "hot=1x:rados:POOL/NAMESPACE".
Result<TierPlan> tier_plan_of(const std::string& text);
// What FOLDER/store says of a store that is made so.
std::string store_text(const std::string& id, const std::vector<TierPlan>& tiers,
                       const std::string& database = {});
std::vector<TierPlan> usual_tiers();  // gpu-direct, hot, warm and cold, one folder each

struct OpenedFolder {
  FolderLock lock;                      // this and the next are the last that go
  std::vector<FolderLock> drive_locks;  // of the drives that are folders
  std::string folder;
  std::string id;
  std::string database;  // empty: RocksDB in the folder
  std::vector<store::Tier> tiers;
  std::map<std::string, std::unique_ptr<drives::Drive>> drives;  // null: not there now
  std::map<std::string, std::string> folders;                    // of the drives
  Diagnostics notes;            // drives that are not there, metadata that are behind
  bool behind = false;          // the metadata have lost commits, and that was accepted
  std::uint64_t run_after = 0;  // a new run has a higher number: the drives have seen this one
  std::shared_ptr<store::Reserve> reserve = std::make_shared<store::Reserve>(std::string());
  std::vector<store::SealedFile> sealed =
      {};  // the metadata's files as the last orderly stop left them
  std::shared_ptr<store::Witnesses> witnesses;  // null: it was opened to look
  std::unique_ptr<rows::Metadata> metadata;

  store::DriveSet drive_set() const;
};

struct FolderWish {
  std::string database = {};  // of a new store; one that is there has its own
  bool alone = false;         // no gateway may run on it meanwhile
  bool looks = false;         // writes nothing, not a byte
  bool accepts_loss = false;  // opens metadata that are behind too, and says so in the notes
  // Judges the metadata while they can only be read: what it refuses leaves everything as it was.
  std::function<Result<void>(rows::Metadata&)> admits = nullptr;
};

// Makes the store where there is none (unless it only looks), as `tiers` says, and opens it. A
// drive that is not there is noted, and the store goes on without it while enough are left; with
// `replace_drives` an empty one is made in its place.
Result<OpenedFolder> open_store_folder(const std::string& folder,
                                       const std::vector<TierPlan>& tiers, const std::string& id,
                                       bool replace_drives = false,
                                       const drives::S3Access& access = {},
                                       const FolderWish& wish = {});

// Closes a store whose run has ended in order: lists the metadata's files, and tells the drives.
void seal_store_folder(OpenedFolder& opened);

}  // namespace orrery::upkeep
