#include "live/files/path.h"

#include "core/base/text.h"

namespace orrery::files {

std::string path_fault(std::string_view path) {
  if (path.empty()) return "the path is empty";
  if (path.front() == '/') return "the path is absolute";
  if (path.find('\0') != std::string_view::npos) return "the path contains a NUL byte";
  if (path.size() > kPathBytesMax) return "the path is too long";
  const auto parts = split(path, '/');
  if (parts.size() > kPathPartsMax) return "the path has too many folders";
  for (const std::string_view part : parts) {
    if (part.empty()) return "the path has an empty part";
    if (part == "." || part == "..") return "the path contains '" + std::string(part) + "'";
    if (part.size() > kNameBytesMax) return "a name in the path is too long";
  }
  return {};
}

}  // namespace orrery::files
