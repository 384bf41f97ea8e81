// The shipped catalog, for tests.
#pragma once

#include <gtest/gtest.h>

#include "core/catalog/catalog.h"

namespace orrery::facility {

inline const catalog::Catalog& shipped_catalog() {
  static const catalog::Catalog catalog = [] {
    auto loaded = catalog::load_embedded_catalog();
    if (!loaded) ADD_FAILURE() << to_text(loaded.error());
    return loaded ? std::move(*loaded) : catalog::Catalog{};
  }();
  return catalog;
}

}  // namespace orrery::facility
