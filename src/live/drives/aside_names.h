// How a drive that cannot rename its objects (an object store or a RADOS pool) sets files aside:
// the file stays in place, and an object NAME!aside next to it stores the time and the origin.
// While that object exists, the file is listed as set aside.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text.h"
#include "live/drives/drive.h"

namespace orrery::drives {

inline constexpr std::string_view kAsideSuffix = "!aside";
inline constexpr const char* kNoteName = "seen";

inline std::string aside_name(std::string_view file) {
  return std::string(file) + std::string(kAsideSuffix);
}
inline std::string aside_text(const AsideFile& file, const std::string& origin) {
  return std::to_string(file.since_ms) + '\n' + origin + '\n';
}
// Returns the time stored in such an object. If it is unreadable, the file counts as set aside just
// now, the latest possible time.
inline std::uint64_t aside_since(std::string_view text) {
  const auto since = parse_integer(text.substr(0, text.find('\n')));
  return since && *since >= 0 ? static_cast<std::uint64_t>(*since) : ~std::uint64_t{0};
}
// Returns the files that have such an object next to them.
inline std::vector<std::string> names_aside(const std::vector<std::string>& all) {
  std::vector<std::string> found;
  for (const std::string& name : all) {
    if (name.ends_with(kAsideSuffix))
      found.push_back(name.substr(0, name.size() - kAsideSuffix.size()));
  }
  return found;
}
// Returns the files that have no such object.
inline std::vector<std::string> names_in_use(const std::vector<std::string>& all) {
  const auto aside = names_aside(all);
  const std::set<std::string> apart(aside.begin(), aside.end());
  std::vector<std::string> found;
  for (const std::string& name : all) {
    if (!name.ends_with(kAsideSuffix) && !apart.contains(name)) found.push_back(name);
  }
  return found;
}

}  // namespace orrery::drives
