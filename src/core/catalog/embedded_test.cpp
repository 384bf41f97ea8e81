#include "core/catalog/embedded.h"

#include <gtest/gtest.h>

#include "core/catalog/embedded_table.h"

namespace orrery::catalog {
namespace {

TEST(Embedded, files_are_sorted_and_found) {
  EXPECT_TRUE(embedded_file("catalog/nodes.csv"));
  EXPECT_FALSE(embedded_file("catalog/nodes"));
}

TEST(Embedded, missing_table_names_the_file) {
  const auto table = embedded_table("catalog/nodes.csv");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->file(), "catalog/nodes.csv");
  EXPECT_TRUE(table->column("id").has_value());
  EXPECT_EQ(embedded_text("catalog/nodes.csv").value(), embedded_file("catalog/nodes.csv"));
  const auto absent = embedded_table("catalog/nodes");
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().front().code, "data.missing");
  EXPECT_EQ(absent.error().front().place.file, "catalog/nodes");
  EXPECT_FALSE(embedded_text("catalog/nodes").has_value());
}

}  // namespace
}  // namespace orrery::catalog
