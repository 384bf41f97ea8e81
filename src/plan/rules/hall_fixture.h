// For tests of the rules and edits of a hall: a template whose views can be set.
#pragma once

#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {

// 127 nodes of 10.2 kW, four per rack of 44 kW, with active doors (70 kW).
struct Hall {
  review::Review review = review::lab_review("superpod-h100");
  review::SiteView& view() { return review.sites.at(0); }
  review::FleetPower& fleet() { return view().fleets.at(0); }
};

inline Hall hall_of(void (*change)(design::Design&)) {
  design::Design d = review::lab_design("superpod-h100");
  change(d);
  return {review::run_stages(std::move(d), machine::known())};
}

}  // namespace orrery::rules
