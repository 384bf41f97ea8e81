// A config.json at the limits of what is believed: the largest figure of each kind, the deepest
// nesting, the longest file; and the small parts beside it: hours of a site, bills, tables by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/catalog/bill.h"
#include "core/catalog/config_json.h"
#include "core/catalog/fact_tables.h"
#include "core/catalog/site_hours.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> limits_said(const std::string& more) {
  const auto model = model_from_config_json(
      R"({"model_type": "llama", "hidden_size": 960, "num_attention_heads": 12,
          "num_hidden_layers": 8, "vocab_size": 1000, "intermediate_size": 2560, )" +
          more + "}",
      "m");
  std::vector<std::string> said;
  if (model) return said;
  for (const Diagnostic& d : model.error()) said.push_back(d.what);
  return said;
}

TEST(ConfigLimits, figures_end_where_no_model_comes_near) {
  struct Limit {
    const char* key;
    const char* most;
    const char* more;
    const char* said;
  };
  constexpr std::array kLimits = {
      Limit{"num_hidden_layers", "2000", "2001", "1 to 2,000"},
      Limit{"num_nextn_predict_layers", "2000", "2001", "0 to 2,000"},
      Limit{"vocab_size", "100000000", "100000001", "1 to 100,000,000"},
      Limit{"head_dim", "4000000", "4000001", "1 to 4,000,000"},
      Limit{"sliding_window", "1000000000", "1000000001", "0 to 1,000,000,000"},
      Limit{"intermediate_size", "4000000", "4000001", "1 to 4,000,000"},
  };
  for (const Limit& l : kLimits) {
    const std::string key = "\"" + std::string(l.key) + "\": ";
    EXPECT_THAT(limits_said(key + l.most), IsEmpty()) << l.key;
    const auto said = limits_said(key + l.more);
    ASSERT_FALSE(said.empty()) << l.key;
    EXPECT_EQ(said[0], "'" + std::string(l.key) + "' is outside " + l.said);
  }
  EXPECT_THAT(limits_said(R"("num_attention_heads": 8192, "head_dim": 1)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("num_attention_heads": 8193, "head_dim": 1)"),
              ElementsAre("'num_attention_heads' is outside 1 to 8,192"));
  EXPECT_THAT(limits_said(R"("num_experts": 100000, "num_experts_per_tok": 1)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("num_experts": 100001)"),
              ElementsAre("'n_routed_experts' is outside 0 to 100,000"));
  EXPECT_THAT(limits_said(R"("num_key_value_heads": 0)"),
              ElementsAre("'num_key_value_heads' is outside 1 to 8,192"));
  EXPECT_THAT(limits_said(R"("num_key_value_heads": 1)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("num_key_value_heads": 2.0)"),
              ElementsAre("'num_key_value_heads' must be a whole number"));
  EXPECT_THAT(limits_said(R"("tie_word_embeddings": "yes")"),
              ElementsAre("tie_word_embeddings must be true or false"));
}

TEST(ConfigLimits, brackets_nest_to_64) {
  const auto nested = [](std::size_t depth) {  // the object itself is one level
    return model_from_config_json(
        "{\n  \"a\": " + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}", "m");
  };
  EXPECT_NE(nested(64).error().front().code, "config.depth");
  const auto deep = nested(66);
  ASSERT_EQ(deep.error().size(), 1U);
  EXPECT_EQ(deep.error()[0].code, "config.depth");
  EXPECT_EQ(deep.error()[0].place, (Place{"m", 2, 71}))
      << "7 before the brackets, the 64th of them";
  EXPECT_EQ(nested(65).error().front().code, "config.depth");
  std::string beside = "{\"a\": ";
  for (int i = 0; i < 70; ++i) beside += "[],";
  EXPECT_NE(model_from_config_json(beside, "m").error().front().code, "config.depth");
  std::string quoted = "{\"a\": \"\\\"" + std::string(70, '[') + "\"}";
  EXPECT_EQ(model_from_config_json(quoted, "m").error().front().code, "config.missing");
}

TEST(ConfigLimits, a_file_has_4_mib) {
  const auto more = model_from_config_json(std::string(4'194'305, ' '), "m");
  EXPECT_EQ(more.error().front().code, "config.size");
  EXPECT_EQ(more.error().front().place, (Place{"m", 0, 0}));
}

TEST(ConfigLimits, python_writes_what_json_lacks) {
  EXPECT_THAT(limits_said(R"("a": [Infinity, -Infinity, NaN], "head_dim": NaN)"), IsEmpty());
  EXPECT_THAT(limits_said(R"("a": "\"NaN", "tie_word_embeddings": Infinity)"), IsEmpty());
  const auto bad = model_from_config_json("{\"a\": Inf}", "m");
  EXPECT_EQ(bad.error().front().code, "config.json");
  EXPECT_EQ(bad.error().front().place.line, 1);
}

std::string hours_of(const std::string& column, const std::string& value, int rows) {
  std::string text = column + "\n";
  for (int i = 0; i < rows; ++i) text += value + "\n";
  return text;
}

TEST(SiteHoursLimits, values_stay_where_a_site_can_be) {
  const auto reads = [](const char* column, const char* value) {
    return read_site_hours(hours_of(column, value, 24), "h.csv").has_value();
  };
  EXPECT_TRUE(reads("carbon_g_per_kwh", "2000"));
  EXPECT_FALSE(reads("carbon_g_per_kwh", "2000.1"));
  EXPECT_TRUE(reads("pue", "1"));
  EXPECT_TRUE(reads("pue", "5"));
  EXPECT_FALSE(reads("pue", "5.01"));
  EXPECT_TRUE(reads("dry_bulb_c", "-90"));
  EXPECT_FALSE(reads("dry_bulb_c", "-90.1"));
  EXPECT_TRUE(reads("dry_bulb_c", "60"));
  EXPECT_FALSE(reads("dry_bulb_c", "60.1"));
}

TEST(SiteHoursLimits, a_fault_says_what_would_do) {
  const auto carbon = read_site_hours(hours_of("carbon_g_per_kwh", "2345", 24), "h.csv");
  ASSERT_FALSE(carbon);
  EXPECT_EQ(carbon.error()[0].what, "line 2: `2345` is no value of carbon_g_per_kwh");
  EXPECT_EQ(carbon.error()[0].fix, "give a number from 0 to 2000");
  EXPECT_EQ(carbon.error()[4].what, "line 6: `2345` is no value of carbon_g_per_kwh");
  const auto cold = read_site_hours(hours_of("dry_bulb_c", "-91", 24), "h.csv");
  EXPECT_EQ(cold.error()[0].fix, "give a number from -90 to 60");
  const auto none = read_site_hours(hours_of("x", "1", 24), "h.csv");
  EXPECT_EQ(none.error()[0].fix, "name carbon_g_per_kwh, pue or dry_bulb_c in the first line");
}

// Ten years with their leap days are 87,672 hours, 3,653 days; this is a day more.
TEST(SiteHoursLimits, ten_years_are_the_most) {
  const auto more = read_site_hours(hours_of("pue", "1.2", 87'696), "h.csv");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error()[0].code, "hours.days");
  EXPECT_EQ(more.error()[0].what, "it has 87696 rows");
  EXPECT_FALSE(read_site_hours(hours_of("pue", "1.2", 12), "h.csv"));
}

TEST(SiteHoursLimits, the_longest_column_is_the_size) {
  EXPECT_EQ((SiteHours{.carbon = {GramsPerJoule(1)}}).size(), 1U);
  EXPECT_EQ((SiteHours{.pue = {1, 2}}).size(), 2U);
  EXPECT_EQ((SiteHours{.dry_c = {1, 2, 3}}).size(), 3U);
}

// 3 x (2 to 5) and 7 x (11 to 13) dollars: 83 to 106; 3 x 17 + 7 x 19 watts: 184.
TEST(BillLines, add_up_each_by_its_count) {
  Bill bill;
  bill.lines = {
      {.section = "a",
       .item = "x",
       .count = 3,
       .unit_price = PriceRange{usd(2), usd(5)},
       .unit_power = watts(17)},
      {.section = "a",
       .item = "y",
       .count = 7,
       .unit_price = PriceRange{usd(11), usd(13)},
       .unit_power = watts(19)},
      {.section = "b", .item = "x", .count = 0.5},
      {.section = "b", .item = "z", .count = 0},
      {.section = "a", .item = "x", .count = 4, .unit_price = PriceRange{}},
  };
  EXPECT_EQ(bill.price().low, usd(83));
  EXPECT_EQ(bill.price().high, usd(106));
  EXPECT_EQ(bill.power(), watts(184));
  EXPECT_EQ(bill.count("a", "x"), 7);
  EXPECT_EQ(bill.count("b", "x"), 0.5);
  EXPECT_EQ(bill.count("b", "y"), 0);
  EXPECT_THAT(bill.unpriced(), ElementsAre("b: x")) << "of z there is none to pay";
  EXPECT_EQ(BillLine{}.count, 0);
  EXPECT_EQ(PowerPhase{}.share, 0);
}

TEST(Facts, are_as_wide_as_their_confidence) {
  EXPECT_EQ(half_width(Confidence::high), 0.02);
  EXPECT_EQ(half_width(Confidence::medium), 0.10);
  EXPECT_EQ(half_width(Confidence::low), 0.30);
  const auto basis = [](FactBasis b) { return fact(1, Provenance{.basis = b}).basis; };
  EXPECT_EQ(basis(FactBasis::measured), Basis::measured);
  EXPECT_EQ(basis(FactBasis::derived), Basis::derived);
  EXPECT_EQ(basis(FactBasis::seen), Basis::vendor);
  EXPECT_EQ(basis(FactBasis::recall), Basis::vendor);
  const Estimate price = fact(PriceRange{usd(10), usd(30)}, {.basis = FactBasis::derived});
  EXPECT_EQ(price.value, 20);
  EXPECT_EQ(price.low, 10);
  EXPECT_EQ(price.high, 30);
  EXPECT_EQ(price.basis, Basis::derived);
}

TEST(Dtypes, have_their_bytes) {
  EXPECT_EQ(bytes_per_element(Dtype::fp64), 8);
  EXPECT_EQ(bytes_per_element(Dtype::fp32), 4);
  EXPECT_EQ(bytes_per_element(Dtype::tf32), 4);
  EXPECT_EQ(bytes_per_element(Dtype::bf16), 2);
  EXPECT_EQ(bytes_per_element(Dtype::fp16), 2);
  EXPECT_EQ(bytes_per_element(Dtype::fp8), 1);
  EXPECT_EQ(bytes_per_element(Dtype::int8), 1);
  EXPECT_EQ(bytes_per_element(Dtype::fp4), 0.5);
}

// Files of our own, sorted by path as those of the binary are.
const std::array<EmbeddedFile, 4> kOwnFiles = {
    EmbeddedFile{"catalog/big_things.csv", "id,aliases\nOne,uno|Eins\ntwo,\n"},
    EmbeddedFile{"catalog/notes.txt", "text"},
    EmbeddedFile{"catalog_index.csv", "id,group,title\nbig_things,parts,Big things\n"},
    EmbeddedFile{"other/big_thingz.csv", "id\n"}};

TEST(TablesByName, hyphens_and_capitals_are_forgiven) {
  const Knowledge knowledge{.catalog = {}, .files = kOwnFiles};
  const auto table = catalog_table(knowledge, "Big-Things");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->file(), "catalog/big_things.csv");
  EXPECT_EQ(table->rows().size(), 2U);
  const auto absent = catalog_table(knowledge, "big-thingz");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error()[0].code, "catalog.table");
  EXPECT_EQ(absent.error()[0].what, "no table 'big-thingz'");
  EXPECT_EQ(absent.error()[0].fix, "did you mean 'big_things'?");
  EXPECT_EQ(catalog_table(knowledge, "notes.t").error()[0].fix, "`orrery catalog` lists them")
      << "a text is no table";
  const auto titles = catalog_titles(knowledge);
  ASSERT_TRUE(titles);
  ASSERT_EQ(titles->size(), 1U);
  EXPECT_EQ(titles->front().id, "big_things");
  EXPECT_EQ(titles->front().group, "parts");
  EXPECT_EQ(titles->front().title, "Big things");
  EXPECT_FALSE(knowledge.text("catalog/zz.csv"));
  EXPECT_FALSE(knowledge.text("zz"));
  EXPECT_EQ(knowledge.table("nothing.csv").error()[0].code, "data.missing");
}

TEST(TablesByName, rows_are_found_by_id_and_alias) {
  const Knowledge knowledge{.catalog = {}, .files = kOwnFiles};
  const auto table = catalog_table(knowledge, "big_things");
  ASSERT_TRUE(table);
  EXPECT_EQ(row_by_id(*table, "ONE"), &table->rows()[0]);
  EXPECT_EQ(row_by_id(*table, "eins"), &table->rows()[0]);
  EXPECT_EQ(row_by_id(*table, "UNO"), &table->rows()[0]);
  EXPECT_EQ(row_by_id(*table, "two"), &table->rows()[1]);
  EXPECT_EQ(row_by_id(*table, "three"), nullptr);
  EXPECT_EQ(row_by_id(*table, ""), nullptr);
  EXPECT_THAT(row_ids(*table), ElementsAre("One", "uno", "Eins", "two"));
}

}  // namespace
}  // namespace orrery::catalog
