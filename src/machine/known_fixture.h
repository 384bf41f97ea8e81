// For tests: the shipped catalog and models, loaded once a process.
#pragma once

#include "machine/models.h"

namespace orrery {

struct Known {
  Catalog catalog;
  Models models;
};

// Never freed: the models point into the catalog, and tests keep what points into both.
inline const Known& known() {
  static const Known* const kAll = [] {
    auto* k = new Known{load_embedded_catalog().value(), {}};
    k->models = load_models(k->catalog).value();
    return k;
  }();
  return *kAll;
}

}  // namespace orrery
