// A service asked again at other sizes: what its view says for the replicas it has, these say for
// any, so that a rule can tell how many would do.
//
//   availability = P(no more hosts down than stand by), hosts down ~ Poisson
#pragma once

#include <optional>

#include "model/figures/assumptions.h"
#include "plan/review/serve_view.h"

namespace orrery::review {

// That are left when one host more is down than stand by.
double replicas_when_short(const ServeView& view);

// The field that says how many.
std::string replicas_path(const ServeView& view);

double availability_with(const ServeView& view, double replicas, const machine::Machine& machine);
// The least that carry the peak, and the users of a site that is lost, and are up as often as the
// workload asks, in whole replicas.
double enough_replicas(const ServeView& view, const machine::Machine& machine);
// The least replicas, from those it has on, that are up as often as wanted; none within twice as
// many and a few.
std::optional<int> replicas_for_availability(const ServeView& view, double wanted,
                                             const machine::Machine& machine);

}  // namespace orrery::review
