// For tests: the shipped knowledge and models, loaded once per process.
#pragma once

#include "core/catalog/embedded.h"
#include "model/machine/models.h"

namespace orrery::machine {

// Never freed, because tests keep pointers into it.
inline const Models& known() {
  static const Models* const kAll = new Models(load_models(catalog::embedded_files()).value());
  return *kAll;
}

}  // namespace orrery::machine
