// A store in a folder: what is stored where, written down once and read by every run.
//
//   FOLDER/store        "orrery-store 4", the id, one line per tier, one line per drive
//   FOLDER/metadata/    RocksDB, if the file names no database
//   metadata postgresql://USER@HOST/NAME         rows that several gateways share
//   FOLDER/TIER/        a drive (folder_drive.h), if the tier names none
//   tier hot 4+2        4 data and 2 parity shards; 1+1 is two copies
//   drive hot-0 /mnt/a  a drive of the tier above it; a relative path is below FOLDER
//   drive cold-0 s3+https://HOST/BUCKET/PREFIX   in another object store (s3_drive.h)
//   drive hot-0 rados:POOL/NAMESPACE             in a RADOS pool (rados_drive.h)
//   FOLDER/spool/       files on their way to such drives; they have no names
//   FOLDER/sealed       the metadata's files at the last clean stop (seal.h)
//   FOLDER/manifest     how far RocksDB's list of tables had come (manifest_note.h)
//
// The id is also in the metadata and on every drive, and all of them are compared before anything
// is written (identity.h): an open that is refused leaves everything unchanged.
//
// The number after "orrery-store" is the format. A later version of the program opens an earlier
// format and writes its own number; an earlier version refuses a later number. Format 2 added
// copies in other tiers and encrypted blobs, format 3 extents whose ETag is not an MD5
// (quick_etag.h), format 4 blobs that are stored in their rows; an earlier version would take these
// for damage. What formats 1 to 3 wrote is read unchanged.
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
  std::vector<std::string> folders = {};  // folders of its drives; if empty, one drive named after
                                          // the tier
};

// Parses a tier: "hot=4+2:/mnt/a,/mnt/b,...", "warm=2x:/mnt/a,/mnt/b",
// "cold=1x:s3+https://HOST/BUCKET", "hot=1x:rados:POOL/NAMESPACE".
Result<TierPlan> tier_plan_of(const std::string& text);
// Returns the text of FOLDER/store for a new store.
std::string store_text(const std::string& id, const std::vector<TierPlan>& tiers,
                       const std::string& database = {});
std::vector<TierPlan> usual_tiers();  // gpu-direct, hot, warm and cold, one folder each

struct OpenedFolder {
  FolderLock lock;                      // declared first, so that the locks are released last
  std::vector<FolderLock> drive_locks;  // locks of the drives that are folders
  std::string folder;
  std::string id;
  std::string database;  // empty: RocksDB in the folder
  std::vector<store::Tier> tiers;
  std::map<std::string, std::unique_ptr<drives::Drive>> drives;  // null: missing now
  std::map<std::string, std::string> folders;                    // folders of the drives
  Diagnostics notes;            // missing drives; metadata that lost commits
  bool behind = false;          // the metadata has lost commits, and this was accepted
  std::uint64_t run_after = 0;  // the drives have recorded this run, so a new run takes a higher
                                // number
  std::shared_ptr<store::Reserve> reserve = std::make_shared<store::Reserve>(std::string());
  std::vector<store::SealedFile> sealed = {};   // the metadata's files at the last clean stop
  std::shared_ptr<store::Witnesses> witnesses;  // null: opened only to read
  std::unique_ptr<rows::Metadata> metadata;

  store::DriveSet drive_set() const;
};

struct FolderWish {
  std::string database = {};  // for a new store; an existing store has its own
  bool alone = false;         // no gateway may run on it at the same time
  bool looks = false;         // writes nothing at all
  bool accepts_loss = false;  // also opens metadata that lost commits, and says so in the notes
  // Checks the metadata while it is open for reading only: if it refuses, nothing has been changed.
  std::function<Result<void>(rows::Metadata&)> admits = nullptr;
};

// Opens the store. If there is none, creates it as `tiers` says (unless the wish is only to look).
// A missing drive adds a note, and the store continues without it if enough drives are left; with
// `replace_drives` an empty drive is created in its place.
Result<OpenedFolder> open_store_folder(const std::string& folder,
                                       const std::vector<TierPlan>& tiers, const std::string& id,
                                       bool replace_drives = false,
                                       const drives::S3Access& access = {},
                                       const FolderWish& wish = {});

// Closes a store whose run has ended cleanly: lists the metadata's files, and notifies the drives.
void seal_store_folder(OpenedFolder& opened);

}  // namespace orrery::upkeep
