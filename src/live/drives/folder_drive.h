// A drive that is a folder of a file system: usually the mount point of its own disk.
//
//   FOLDER/drive         the marker: "orrery-drive 1", the store's id and the drive's id
//   FOLDER/data/HH/NAME  the files, spread over 256 folders by the hash of their name
//   FOLDER/seen          the note: two pages, each with a number and a checksum; synced notes go to
//                        the first page, so a torn write of the second does no harm
//   FOLDER/aside/MS/NAME files set aside at MS milliseconds of healthy time; `origin` there says
//                        why
//
// A drive whose folder has lost its marker (not mounted, or a new disk) is refused, so that nothing
// is written into the mount point below it. Writing back of a large file begins while it is still
// being written, so that sync() has little left to do. If the size is known, space on the disk is
// reserved ahead, but never more than has been written so far, or a few megabytes: a client that
// only announces a large object takes no space.
#pragma once

#include "core/base/diagnostic.h"
#include "live/drives/drive.h"

namespace orrery::drives {

struct DriveMark {
  std::string store;  // id of the store that the drive belongs to
  std::string drive;  // id of the drive within that store
};

// Returns the text of a drive's marker.
std::string mark_text(const DriveMark& mark);

// What this program may do with a folder that has no marker.
enum class Marking {
  refuse,  // nothing: a drive without a marker counts as missing
  make,    // create a drive if the folder has no files of a drive
  again,   // as `make`, and also rewrite a lost or damaged marker (for a requested repair)
};

// Opens the drive. If its marker cannot be read, the fault does not claim that it belongs to
// another store.
Result<std::unique_ptr<Drive>> open_folder_drive(const std::string& folder, const DriveMark& mark,
                                                 Marking marking);

}  // namespace orrery::drives
