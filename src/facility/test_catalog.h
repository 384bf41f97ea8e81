// The shipped catalog, for tests.
#pragma once

#include <gtest/gtest.h>

#include "catalog/catalog.h"

namespace orrery {

inline const Catalog& shipped_catalog() {
  static const Catalog catalog = [] {
    auto loaded = load_embedded_catalog();
    if (!loaded) ADD_FAILURE() << to_text(loaded.error());
    return loaded ? std::move(*loaded) : Catalog{};
  }();
  return catalog;
}

}  // namespace orrery
