// A file that a design names (a model's config.json, a CSV), by the reader that the caller hands
// in.
//
// A place may have no files at all, or give only some of them, as the console does: then its reader
// refuses the others with the code kFileNotGiven.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"

namespace orrery::catalog {

inline constexpr std::string_view kFileNotGiven = "file.not-given";

// Returns the file's text, or why it cannot be read; nothing if this place does not give the file.
std::optional<Result<std::string>> named_file(const ReadFile& read_file, std::string_view name);

}  // namespace orrery::catalog
