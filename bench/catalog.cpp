// How long a process takes to load the catalog.
#include "core/catalog/catalog.h"

#include "bench/figure.h"

namespace orrery {

std::vector<SpeedFigure> catalog_figures() {
  return {{.name = "catalog_load",
           .unit = "s",
           .what = "load and check every catalog table that has a struct",
           .measure = []() -> Result<double> {
             Diagnostics faults;
             const double taken = seconds_of([&] {
               const auto loaded = catalog::load_embedded_catalog();
               if (!loaded) faults = loaded.error();
             });
             if (!faults.empty()) return std::unexpected(faults);
             return taken;
           }}};
}

}  // namespace orrery
