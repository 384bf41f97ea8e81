// A service computed again with other numbers of replicas: the view's figures hold for the replicas
// that it has, these functions hold for any number, so a rule can find the number that suffices.
//
//   availability = P(no more hosts down than spare), hosts down ~ Poisson
#pragma once

#include <optional>

#include "model/figures/assumptions.h"
#include "plan/review/serve_view.h"

namespace orrery::review {

// Returns the replicas left when one host more is down than there are spares.
double replicas_when_short(const ServeView& view);

// Returns the field that sets the number of replicas.
std::string replicas_path(const ServeView& view);

double availability_with(const ServeView& view, double replicas, const machine::Machine& machine);
// Returns the fewest whole replicas that carry the peak and the users of a lost site, and that meet
// the availability that the workload asks for.
double enough_replicas(const ServeView& view, const machine::Machine& machine);
// Returns the fewest replicas, not below the present number, that reach the wanted availability;
// nothing if twice as many and a few more do not.
std::optional<int> replicas_for_availability(const ServeView& view, double wanted,
                                             const machine::Machine& machine);

}  // namespace orrery::review
