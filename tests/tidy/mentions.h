// Headers that comments and pages mention: each must exist; otherwise the reader searches in vain.
//
// A mention is a file name with as much of its path as needed, such as `cluster/queue.h`. Headers
// of other projects are in angle brackets, such as `<sysexits.h>`. CHANGELOG.md describes the past
// and is not checked.
#pragma once

#include <set>
#include <string>

#include "tidy/rules.h"

namespace orrery::tidy {

// `headers` are paths from the root. In code only comments are read, elsewhere everything.
Complaints check_mentions(const Source& source, const std::set<std::string>& headers);

}  // namespace orrery::tidy
