// A drive that is a folder of a file system: usually the mount point of a disk of its own.
//
//   FOLDER/drive         what this is: "orrery-drive 1", the store's id, the drive's
//   FOLDER/data/HH/NAME  the files, spread over 256 folders by the hash of their name
//   FOLDER/seen          the note: two places of a page, each with a number and a checksum; what is
//                        synced goes to the first, so a torn page of the second does no harm
//   FOLDER/aside/MS/NAME files set aside at MS milliseconds of healthy time; `origin` there says
//   why
// A drive whose folder has lost its mark (not mounted, a new disk) is refused, so that nothing is
// written into the mount point below it. Writing back of a large file begins while it is still
// being written, so that sync() has little left to do. If the size is known, room on the disk is
// reserved ahead, but never more than has been written so far, or a few megabytes: a client that
// only announces a large object takes no room.
#pragma once

#include "core/base/diagnostic.h"
#include "live/drives/drive.h"

namespace orrery::drives {

struct DriveMark {
  std::string store;  // the id of the store that it belongs to
  std::string drive;  // its own, in that store
};

// Returns the text of a drive's mark.
std::string mark_text(const DriveMark& mark);

// What this program may do to a folder that has no mark.
enum class Marking {
  refuse,  // nothing: a drive without a mark is not there
  make,    // make a drive where the folder has no files of one
  again,   // as make, and write a lost or damaged mark again (a repair that was asked for)
};

// Opens the drive. A mark that cannot be read is not taken for another store's.
Result<std::unique_ptr<Drive>> open_folder_drive(const std::string& folder, const DriveMark& mark,
                                                 Marking marking);

}  // namespace orrery::drives
