// Files that comments and pages name: each must exist, or the reader searches in vain.
//
// A header is named with as much of its path as helps, `cluster/queue.h`. A header of another
// project is in angle brackets, `<sysexits.h>`. Other files are named by their path from the root,
// `docs/models/fabric.md`; a part in capitals is a placeholder, `bench/NAME.cpp`. CHANGELOG.md is
// about the past and is not read.
#pragma once

#include <set>
#include <string>

#include "tidy/rules.h"

namespace orrery::tidy {

// `headers` are paths from the root. In code only comments are read, elsewhere everything.
Complaints check_mentions(const Source& source, const std::set<std::string>& headers);

// Complains about paths that are not in `files`, which are paths from the root. In code only pages
// of docs/ are looked for, in comments and texts alike; pages and tables are read for all paths.
Complaints check_paths(const Source& source, const std::set<std::string>& files);

}  // namespace orrery::tidy
