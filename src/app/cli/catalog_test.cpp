#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

VerbAnswer ask_catalog(std::vector<std::string> words) {
  words.insert(words.begin(), "catalog");
  return spoken(words);
}

TEST(Catalog, a_row_is_found_by_alias_in_any_case) {
  EXPECT_THAT(ask_catalog({"models", "Meta-Llama/Llama-3.1-70B"}).out, HasSubstr("llama-3-70b"));
  EXPECT_EQ(ask_catalog({"optics-cables", "DAC-400-passive"}).code, ExitCode::good);
}

TEST(Catalog, json_and_csv_have_the_rows) {
  const VerbAnswer json = ask_catalog({"nodes", "dgx-h100", "--format", "json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"max_power_kw\": 10.2"),
                              HasSubstr("\"table\": \"nodes\""), Not(HasSubstr("dgx-a100"))));
  EXPECT_THAT(ask_catalog({"nodes", "--format", "csv"}).out, StartsWith("id,vendor,name,"));
  EXPECT_THAT(ask_catalog({"nodes", "--format", "markdown"}).out, HasSubstr("| dgx-h100"));
}

TEST(Catalog, the_nearest_name_is_suggested) {
  const VerbAnswer table = ask_catalog({"acelerators"});
  EXPECT_EQ(table.code, ExitCode::bad_input);
  EXPECT_THAT(table.err, HasSubstr("accelerators"));
  EXPECT_THAT(ask_catalog({"nodes", "dgx-h10"}).err, HasSubstr("dgx-h100"));
  EXPECT_THAT(ask_catalog({"h100-sxm"}).err, HasSubstr("orrery catalog accelerators h100-sxm"));
  EXPECT_THAT(ask_catalog({"regions"}).err, HasSubstr("grid_regions"));
}

TEST(Catalog, json_numbers_are_numbers) {
  const Json table = Json::parse(spoken({"catalog", "reserved_discounts", "--format", "json"}).out);
  EXPECT_EQ(table["schema_version"], 1);
  EXPECT_EQ(table["table"], "reserved_discounts");
  ASSERT_EQ(table["rows"].size(), 2U);
  EXPECT_EQ(table["rows"][1]["id"], "3-year");
  EXPECT_EQ(table["rows"][1]["term_years"], 3);
  EXPECT_EQ(table["rows"][1]["discount_high"], 0.6);
  EXPECT_EQ(table["rows"][1]["date"], "2026");
  // One row has "200-700" in this column, another is empty.
  const Json caps = Json::parse(spoken({"catalog", "power_capping", "--format", "json"}).out);
  EXPECT_EQ(caps["rows"][0]["cap_w"], "600");
  EXPECT_TRUE(caps["rows"][8]["cap_w"].is_null());
  const std::string csv =
      spoken({"catalog", "power_capping", "generic-fit", "--format", "csv"}).out;
  EXPECT_THAT(csv, StartsWith("id,gpu,workload,cap_w,cap_fraction,"));
  EXPECT_THAT(csv, HasSubstr("\ngeneric-fit,generic,"));
}

TEST(Catalog, tables_and_rows_in_csv_and_json) {
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const std::string all = spoken({"catalog", "nodes", "--format", "csv"}).out;
  const std::string one = spoken({"catalog", "nodes", "dgx-h100", "--format", "csv"}).out;
  EXPECT_EQ(lines(one), 2);
  EXPECT_THAT(one, HasSubstr("\ndgx-h100,"));
  EXPECT_GT(lines(all), 20);
  EXPECT_THAT(all, HasSubstr(one.substr(one.find('\n'))));
  const Json rows = json_said({"catalog", "nodes"})["rows"];
  EXPECT_EQ(static_cast<long>(rows.size()) + 1, lines(all));
  EXPECT_TRUE(rows[0]["date"].is_string());
  const Json row = json_said({"catalog", "nodes", "dgx-h100"});
  ASSERT_EQ(row["rows"].size(), 1U);
  EXPECT_EQ(row["rows"][0]["id"], "dgx-h100");
  const Json tables = json_said({"catalog"})["tables"];
  const std::string listed = spoken({"catalog", "--format", "csv"}).out;
  EXPECT_THAT(listed, StartsWith("table,rows,group,title\naccelerators,"));
  EXPECT_EQ(static_cast<long>(tables.size()) + 1, lines(listed));
  EXPECT_EQ(tables[1]["table"], "nodes");
  EXPECT_EQ(tables[1]["rows"], rows.size());
  EXPECT_EQ(tables[1]["group"], "parts");
}

}  // namespace
}  // namespace orrery::cli
