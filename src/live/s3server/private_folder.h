// A store's folders and files are its user's alone: folders 0700, files 0600. What an earlier
// program made for everybody to read is tightened when the store is opened.
//
// The folder of the store, its file, its spool and its metadata are tightened each time. Of a drive
// the mark and data/ are; the shards in data/ only where data/ itself was open, for they may be
// many and nobody reaches them behind it. A drive's own folder outside the store's may be a mount
// that others use, and is left as it is. Links inside are not followed: what they lead to is not
// the store's.
#pragma once

#include "live/s3server/names.h"
#include "live/upkeep/store_folder.h"

namespace orrery::s3server {

// Notes what was tightened ("store.modes"), and what could not be, as a file of another user.
Diagnostics tighten_modes(const std::string& folder, const OpenedFolder& store);

}  // namespace orrery::s3server
