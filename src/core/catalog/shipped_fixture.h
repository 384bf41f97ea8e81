// For tests: what data/ says, loaded once a process.
#pragma once

#include "core/catalog/knowledge.h"

namespace orrery::catalog {

// Never freed: tests keep what points into it.
inline const Knowledge& shipped() {
  static const Knowledge* const kAll = new Knowledge(load_knowledge(embedded_files()).value());
  return *kAll;
}

}  // namespace orrery::catalog
