#include "output/report/view_catalog.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/machine/known_fixture.h"

namespace orrery::report {
namespace {

using CatalogJson = nlohmann::json;

const catalog::Knowledge& shipped() { return *machine::known().knowledge; }

std::string code_of(std::string_view table, std::string_view id) {
  const auto json = catalog_view_json(shipped(), table, id);
  return json ? "" : json.error().front().code;
}

TEST(ViewCatalog, row_counts_of_the_list_are_right) {
  const auto all = CatalogJson::parse(catalog_view_json(shipped(), "", "").value());
  ASSERT_GT(all["tables"].size(), 10u);
  for (const CatalogJson& table : all["tables"]) {
    const auto rows = CatalogJson::parse(
        catalog_view_json(shipped(), table["table"].get<std::string>(), "").value());
    EXPECT_EQ(rows["table"], table["table"]);
    EXPECT_EQ(rows["rows"].size(), table["rows"]);
  }
}

TEST(ViewCatalog, a_row_is_found_by_id_or_alias) {
  const auto one = CatalogJson::parse(catalog_view_json(shipped(), "nodes", "dgx-h100").value());
  ASSERT_EQ(one["rows"].size(), 1u);
  EXPECT_EQ(one["rows"][0]["id"], "dgx-h100");
  EXPECT_TRUE(one["rows"][0]["max_power_kw"].is_number());
  EXPECT_TRUE(one["rows"][0]["date"].is_string());
  EXPECT_EQ(catalog_view_json(shipped(), "models", "Meta-Llama/Llama-3.1-70B").value(),
            catalog_view_json(shipped(), "models", "llama-3-70b").value());
  EXPECT_EQ(catalog_view_json(shipped(), "optics-cables", "").value(),
            catalog_view_json(shipped(), "optics_cables", "").value());
}

TEST(ViewCatalog, an_unknown_name_is_refused) {
  EXPECT_EQ(code_of("nothing", ""), "catalog.table");
  EXPECT_EQ(code_of("../validation/training", ""), "catalog.table");
  EXPECT_EQ(code_of("nodes", "nothing"), "catalog.row");
}

}  // namespace
}  // namespace orrery::report
