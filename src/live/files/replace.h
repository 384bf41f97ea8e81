// Replaces a file by a new one, as a whole or not at all.
//
// The text is written to a file next to the old one, synced and renamed over the old name, and the
// folder is synced. A reader sees the old text or the new one, also after a power cut. A link at
// the name is replaced, not followed. A leftover of a killed run is removed first, so only one
// writer at a time may replace a name.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::files {

// Writes the whole text, also if signals interrupt the call.
bool write_all(int file, std::string_view text);

// Syncs a folder, so that names made or changed in it last.
bool sync_folder(const std::string& folder);

// Writes what `fill` puts into the descriptor to `name` in the open folder; until it is complete,
// the file is called `part`. Returns false on failure and leaves nothing of the new file.
bool replace_at(int folder, const std::string& part, const std::string& name, mode_t mode,
                const std::function<bool(int)>& fill);

// Writes a text to `path` by way of `path`.new. Without `mode` the new file keeps the permissions
// of the old one; if there is none, it gets the default permissions (umask).
bool replace_file(const std::string& path, std::string_view text,
                  std::optional<mode_t> mode = std::nullopt);

}  // namespace orrery::files
