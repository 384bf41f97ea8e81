#include "model/figures/figure.h"

namespace orrery::figures {

Number number_of(const Figure& f) {
  return {.id = f.id(),
          .label = f.title(),
          .unit = f.unit(),
          .estimate = f.estimate,
          .formula = f.formula,
          .inputs = f.inputs};
}

}  // namespace orrery::figures
