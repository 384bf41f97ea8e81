// A drive that is a folder of a file system: usually the mount point of a disk of its own.
//
//   FOLDER/drive         what this is: "orrery-drive 1", the store's id, the drive's
//   FOLDER/data/HH/NAME  the files, spread over 256 folders by the hash of their name
// A drive whose folder has lost its mark (not mounted, a new disk) is refused, so that nothing is
// written into the mount point below it. Writing back begins while a file is still being
// written, so that sync() of a large one has little left to do.
#pragma once

#include "base/diagnostic.h"
#include "store/drive.h"

namespace orrery::store {

struct DriveMark {
  std::string store;  // the id of the store that it belongs to
  std::string drive;  // its own, in that store
};

// What a drive's mark says.
std::string mark_text(const DriveMark& mark);

// Opens the drive, or makes one where the folder is empty or not there and `make` says so.
Result<std::unique_ptr<Drive>> open_folder_drive(const std::string& folder, const DriveMark& mark,
                                                 bool make);

}  // namespace orrery::store
