// The files of data/, which the build puts into the binary as text.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace orrery::catalog {

struct EmbeddedFile {
  std::string_view path;  // below data/, with '/': "catalog/accelerators.csv"
  std::string_view text;
};

// Sorted by path.
std::span<const EmbeddedFile> embedded_files();
std::optional<std::string_view> embedded_file(std::string_view path);

}  // namespace orrery::catalog
