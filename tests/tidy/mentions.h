// Headers that comments and pages name: each must be there, or the reader looks for nothing.
//
// A mention is a file name with as much of its path as helps, `cluster/queue.h`. A header of
// another project stands in angle brackets, `<sysexits.h>`. CHANGELOG.md tells of the past and is
// not read.
#pragma once

#include <set>
#include <string>

#include "tidy/rules.h"

namespace orrery::tidy {

// `headers` are paths from the root. In code comments are read, elsewhere everything.
Complaints check_mentions(const Source& source, const std::set<std::string>& headers);

}  // namespace orrery::tidy
