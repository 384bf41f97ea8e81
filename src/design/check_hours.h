// Reads the hours that sites name, and checks what hangs on them: a PUE that is said twice, work
// that waits for clean hours where none are known, a plant that no weather or outage can try.
#pragma once

#include "design/design.h"
#include "design/value_reader.h"

namespace orrery::design {

// Hours go into design.local_hours.
void check_hours(Design& design, ValueReader& values, const catalog::ReadFile& read_file);

}  // namespace orrery::design
