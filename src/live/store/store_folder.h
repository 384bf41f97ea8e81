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
// The number behind "orrery-store" is the format's. A later program opens an earlier format and
// writes the number it has made of it; an earlier one refuses a later number. Format 2 has copies
// in other tiers and enciphered blobs, format 3 extents whose ETag is no MD5 (quick_etag.h), format
// 4 blobs that stand in their rows; an earlier program would hold both for damaged. What formats 1
// to 3 wrote is read as it is.
#pragma once

#include <memory>

#include "core/base/diagnostic.h"
#include "live/store/s3_drive.h"
#include "live/store/store.h"

namespace orrery::store {

inline constexpr int kStoreFormat = 4;

struct TierPlan {
  std::string name;
  ShardPlan plan = {};
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
  std::string id;
  std::string database;  // empty: RocksDB in the folder
  std::unique_ptr<Metadata> metadata;
  std::vector<Tier> tiers;
  std::map<std::string, std::unique_ptr<Drive>> drives;  // null: not there now
  std::map<std::string, std::string> folders;            // of the drives
  Diagnostics notes;                                     // drives that are not there

  DriveSet drive_set() const;
};

struct FolderWish {
  std::string database = {};  // of a new store; one that is there has its own
  bool alone = false;         // no gateway may run on it meanwhile
};

// Makes the store where there is none, as `tiers` says, and opens it. A drive that is not there is
// noted, and the store goes on without it while enough are left; with `replace_drives` an empty one
// is made in its place.
Result<OpenedFolder> open_store_folder(const std::string& folder,
                                       const std::vector<TierPlan>& tiers, const std::string& id,
                                       bool replace_drives = false, const S3Access& access = {},
                                       const FolderWish& wish = {});

}  // namespace orrery::store
