#include "model/machine/section.h"

namespace orrery::machine {

const char* to_text(Layer layer) {
  switch (layer) {
    case Layer::compute:
      return "compute";
    case Layer::training:
      return "training";
    case Layer::serving:
      return "serving";
    case Layer::fabric:
      return "fabric";
    case Layer::storage:
      return "storage";
    case Layer::cluster:
      return "cluster";
    case Layer::failure:
      return "failure";
    case Layer::facility:
      return "facility";
    case Layer::cost:
      return "cost";
  }
  return "compute";
}

}  // namespace orrery::machine
