// Small files of the store itself, written so that a power cut leaves the old one or the new one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::drives {

std::optional<std::string> read_file(const std::string& path);
// Into a file beside it, synced, renamed over it, the folder synced. errno says why not.
bool write_durably(const std::string& path, std::string_view text, int mode = 0640);
bool sync_folder(const std::string& folder);

}  // namespace orrery::drives
