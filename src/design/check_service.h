// Whether what a service says of talks, routers, autoscaling and its KV tier has something to act
// on: what is not modelled together is refused.
#pragma once

#include <string>

#include "design/place_map.h"
#include "design/value_reader.h"
#include "design/workloads.h"

namespace orrery::design {

void check_service(const Serve& serve, const std::string& path, const PlaceMap& places,
                   ValueReader& values);

}  // namespace orrery::design
