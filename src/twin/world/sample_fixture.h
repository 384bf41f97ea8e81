// For tests: the design that most of them modify.
#pragma once

#include <variant>

#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"

namespace orrery::world {

inline constexpr design::FleetIndex kFirstFleet(0);
inline constexpr design::SiteIndex kFirstSite(0);

// The sample's training run and nothing else.
inline design::Design sample_design() {
  design::Design d = design_text::read_design(design_text::find_template("superpod-h100")->text,
                                              machine::known().catalog())
                         .value();
  d.workloads.resize(1);
  return d;
}

inline design::Train& train_of(design::Design& d) {
  return std::get<design::Train>(d.workloads.front().task);
}

}  // namespace orrery::world
