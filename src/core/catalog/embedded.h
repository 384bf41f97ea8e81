// The files of data/, which the build embeds in the binary as text.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace orrery::catalog {

struct EmbeddedFile {
  std::string_view path;  // path below data/, with '/': "catalog/accelerators.csv"
  std::string_view text;
};

// All embedded files, sorted by path.
std::span<const EmbeddedFile> embedded_files();
std::optional<std::string_view> embedded_file(std::string_view path);

}  // namespace orrery::catalog
