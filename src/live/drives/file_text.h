// Small files of the store itself, written so that a power cut leaves either the old or the new
// one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::drives {

std::optional<std::string> read_file(const std::string& path);
// Replaces a file as a whole or not at all (files::replace_file), with the permissions of the
// store's own files. Returns false on failure, with errno set.
bool write_durably(const std::string& path, std::string_view text, int mode = 0640);

}  // namespace orrery::drives
