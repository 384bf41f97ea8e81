#include "twin/world/host_use.h"

namespace orrery::world {

HostUse working(const FleetPart& fleet, double mean_level, double highest_level) {
  const facility::NodePower& p = fleet.host_power;
  const Watts span = p.peak - p.idle;
  return {Cause::productive, p.idle + span * mean_level, p.idle + span * highest_level};
}

HostUse resting(const FleetPart& fleet, Cause cause) {
  const facility::NodePower& p = fleet.host_power;
  const auto level = [&](double l) { return p.idle + (p.peak - p.idle) * l; };
  switch (cause) {
    case Cause::detect:
      return {cause, level(facility::kCommunicationLevel), level(facility::kCommunicationLevel)};
    case Cause::restore:
      return {cause, level(facility::kCheckpointLevel), level(facility::kCheckpointLevel)};
    case Cause::power:
      return {cause, Watts(0), Watts(0)};
    default:
      return {cause, p.idle, p.idle};
  }
}

}  // namespace orrery::world
