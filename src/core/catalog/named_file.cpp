#include "core/catalog/named_file.h"

namespace orrery::catalog {

std::optional<Result<std::string>> named_file(const ReadFile& read_file, std::string_view name) {
  if (!read_file) return std::nullopt;
  Result<std::string> text = read_file(name);
  const bool is_given = text || text.error().empty() || text.error().front().code != kFileNotGiven;
  return is_given ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace orrery::catalog
