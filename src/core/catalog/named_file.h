// Reads a file that a design names (a model's config.json, a CSV) with the reader that the caller
// provides.
//
// A caller may have no files at all, or only some of them, as the console does. Its reader then
// refuses the others with the code kFileNotGiven.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"

namespace orrery::catalog {

inline constexpr std::string_view kFileNotGiven = "file.not-given";

// Returns the file's text, or why it cannot be read; nullopt if the caller does not provide this
// file.
std::optional<Result<std::string>> named_file(const ReadFile& read_file, std::string_view name);

}  // namespace orrery::catalog
