// Small files of the store itself, written so that a power cut leaves the old one or the new one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::drives {

std::optional<std::string> read_file(const std::string& path);
// Writes a file beside it, syncs it, renames it over the old one and syncs the folder. Returns
// false on failure, with errno set.
bool write_durably(const std::string& path, std::string_view text, int mode = 0640);
bool sync_folder(const std::string& folder);

}  // namespace orrery::drives
