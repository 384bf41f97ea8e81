// For tests: the contents of data/, loaded once per process.
#pragma once

#include "core/catalog/knowledge.h"

namespace orrery::catalog {

// Never freed, because tests keep pointers into it.
inline const Knowledge& shipped() {
  static const Knowledge* const kAll = new Knowledge(load_knowledge(embedded_files()).value());
  return *kAll;
}

}  // namespace orrery::catalog
