#include "layers/facility/power_admission.h"

namespace orrery::facility {
namespace {

// Sums of the same watts in another order differ by less than this.
constexpr double kRounding = 1e-9;

}  // namespace

Watts PowerRoom::left() const { return feed / pue - always - running; }

Watts rise_of(const NodePower& host) { return host.peak - host.idle; }

Watts admissible(const PowerRoom& room) { return room.left() + room.feed * kRounding; }

bool admits(const PowerRoom& room, Watts rise) { return rise <= admissible(room); }

}  // namespace orrery::facility
