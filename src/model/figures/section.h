// Section: what is reported about one part of a machine: figures under a name, and the limit that
// binds there. The review fills it in closed form, a run in simulated time.
#pragma once

#include <string>
#include <vector>

#include "model/figures/figure.h"

namespace orrery::figures {

// What a section is about: a workload, a network, a tier, or the whole layer (empty name).
struct Section {
  Layer layer = Layer::compute;
  std::string name;
  std::string summary;          // one line: "127 x dgx-h100, tp 8 pp 1 dp 126"
  std::vector<Figure> figures;  // all from the section's layer
  std::string limit;            // what binds here: "matrix work, 71 % of the step"
};

}  // namespace orrery::figures
