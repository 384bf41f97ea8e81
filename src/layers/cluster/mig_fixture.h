// Shared by the tests of MIG layouts: a layout is legal if its instances can be added one by one.
#pragma once

#include "layers/cluster/mig.h"

namespace orrery::cluster {

inline bool is_legal(const MigLayout& layout, std::span<const catalog::MigProfile> profiles) {
  MigLayout built;
  for (const MigInstance& instance : layout) {
    if (!can_add(built, instance, profiles)) return false;
    built.push_back(instance);
  }
  return true;
}

}  // namespace orrery::cluster
