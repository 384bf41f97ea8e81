#include "layers/facility/energy.h"

namespace orrery::facility {

Footprint footprint(const FootprintRequest& request) {
  Footprint f;
  f.it_energy = request.it_power * request.duration;
  f.site_energy = f.it_energy * request.pue;
  f.carbon = f.site_energy * request.grid;
  f.water_l = f.it_energy / kwh(1) * request.wue_l_per_kwh;
  return f;
}

}  // namespace orrery::facility
