// Puts a new file in the place of an old one, whole or not at all.
//
// The text is written to a file beside it, synced, renamed over the name, and the folder is synced:
// whoever reads the name meanwhile, or after a power cut, sees the old text or the new one. A link
// at the name is replaced, not followed. What a killed run left beside it is removed first, so only
// one writer may replace a name at a time.
//
// Functions return false with the reason in errno, for callers have diagnostics of their own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::files {

// Writes all of it; a signal does not end it.
bool write_all(int file, std::string_view text);

// Syncs a folder, so that names made or changed in it last.
bool sync_folder(const std::string& folder);

// Puts what `fill` writes to the descriptor at `name` in the open folder; `part` is its name until
// then. On false nothing is left of it.
bool replace_at(int folder, const std::string& part, const std::string& name, mode_t mode,
                const std::function<bool(int)>& fill);

// Puts a text at `path`, by way of `path`.new. Without `mode` the file keeps the rights that the
// old one has, and a first one gets those that the umask leaves.
bool replace_file(const std::string& path, std::string_view text,
                  std::optional<mode_t> mode = std::nullopt);

}  // namespace orrery::files
