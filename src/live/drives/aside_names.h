// How a drive that cannot rename its objects (an object store, a RADOS pool) sets files aside: the
// file stays, and an object NAME!aside beside it has its time and its origin. While that is there,
// the file is listed apart.
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
// Returns the time in such an object. An unreadable one counts as set aside just now: the latest
// possible time.
inline std::uint64_t aside_since(std::string_view text) {
  const auto since = parse_integer(text.substr(0, text.find('\n')));
  return since && *since >= 0 ? static_cast<std::uint64_t>(*since) : ~std::uint64_t{0};
}
// Returns the files that have such an object beside them.
inline std::vector<std::string> names_aside(const std::vector<std::string>& all) {
  std::vector<std::string> found;
  for (const std::string& name : all) {
    if (name.ends_with(kAsideSuffix))
      found.push_back(name.substr(0, name.size() - kAsideSuffix.size()));
  }
  return found;
}
// Returns the files that have none.
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
