// Makes folders and files of a store private to its user: folders 0700, files 0600. Files that an
// earlier version of the program left readable for other users are tightened when the store is
// opened.
//
// The folder of the store, its file, its spool and its metadata are tightened each time, and so are
// the marker and data/ of a drive. The shards in data/ are tightened only if data/ itself was open:
// there may be many of them, and a closed data/ protects them. A drive's folder outside the store
// may be a mount point that others use, and is not changed. Links are not followed, because their
// targets do not belong to the store.
#pragma once

#include "live/s3server/names.h"
#include "live/upkeep/store_folder.h"

namespace orrery::s3server {

// Returns notes about what was tightened ("store.modes") and what could not be, such as files of
// another user.
Diagnostics tighten_modes(const std::string& folder, const OpenedFolder& store);

}  // namespace orrery::s3server
