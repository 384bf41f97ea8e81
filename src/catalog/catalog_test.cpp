#include "catalog/catalog.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const Catalog& shipped() {
  static const Catalog catalog = [] {
    auto loaded = load_embedded_catalog();
    if (!loaded) ADD_FAILURE() << to_text(loaded.error());
    return loaded ? std::move(*loaded) : Catalog{};
  }();
  return catalog;
}

TEST(Catalog, LoadsEveryTable) {
  const Catalog& c = shipped();
  EXPECT_EQ(c.accelerators.size(), 37u);
  EXPECT_GE(c.nodes.size(), 17u);
  EXPECT_GE(c.models.size(), 37u);
}

}  // namespace
}  // namespace orrery
