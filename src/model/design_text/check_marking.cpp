#include <fmt/core.h>

#include "core/base/text.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

void check_roce(const design::RoceChecklist& roce, const std::string& path,
                const design::PlaceMap& places, ValueReader& values) {
  if (roce.ecn_kmin && roce.ecn_kmax && *roce.ecn_kmin >= *roce.ecn_kmax) {
    values.complain(places.find(path + ".ecn_kmin"),
                    {"design.range",
                     fmt::format("`ecn_kmin` of {} is not below `ecn_kmax` of {}",
                                 brief(*roce.ecn_kmin), brief(*roce.ecn_kmax)),
                     "the share of marked packets grows from `ecn_kmin` to `ecn_kmax`",
                     "write a smaller ecn_kmin"});
  }
  if (roce.watchdog_time && !roce.pfc_watchdog.value_or(false)) {
    values.complain(places.find(path + ".watchdog_time"),
                    {"design.watchdog", "there is no `pfc_watchdog`",
                     "without a watchdog its time has no effect",
                     "add `pfc_watchdog: true`, or leave this out"});
  }
}

}  // namespace

void check_marking(const design::Design& design, ValueReader& values) {
  check_roce(design.fabric.compute.roce, "fabric.compute.roce", design.places, values);
  check_roce(design.fabric.storage.roce, "fabric.storage.roce", design.places, values);
}

}  // namespace orrery::design_text
