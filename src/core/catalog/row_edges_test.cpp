// Rows at the edges of what is taken: kinds of attention, names of slices, counts of power
// supplies, and the longest file of hours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/catalog/checks.h"
#include "core/catalog/row_fixture.h"
#include "core/catalog/site_hours.h"

namespace orrery::catalog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A model of four layers; "kind or what was said".
std::string attention_of(const char* kind) {
  Diagnostics faults;
  const auto m = row_of_table<ModelShape>({{"id", "x-1"},
                                           {"attention", kind},
                                           {"layers", "4"},
                                           {"hidden", "64"},
                                           {"heads", "8"},
                                           {"kv_heads", "8"},
                                           {"ffn", "256"},
                                           {"gated_mlp", "1"},
                                           {"vocab", "100"},
                                           {"tied_embeddings", "0"}},
                                          faults);
  if (faults.empty()) return m.attention == AttentionKind::mla ? "mla" : "gqa";
  std::string said;
  for (const Diagnostic& d : faults) said += d.code + ": " + d.what + ";";
  return said;
}

TEST(RowEdges, attention_is_of_two_kinds) {
  EXPECT_EQ(attention_of("gqa"), "gqa");
  EXPECT_EQ(attention_of("mla"), "mla");
  const std::string neither = attention_of("mqa");
  EXPECT_THAT(neither, testing::StartsWith("catalog.attention: "));
  EXPECT_THAT(neither, testing::HasSubstr("attention must be gqa or mla"));
  EXPECT_THAT(attention_of(""), testing::HasSubstr("attention must be gqa or mla"));
}

std::vector<std::string> said_of_slice(const char* profile, double gb) {
  Catalog c;
  c.accelerators = {{.id = "x", .memory = gigabytes(80)}};
  c.mig_profiles = {
      {.id = "m", .accelerator_id = "x", .profile = profile, .memory = gigabytes(gb)}};
  Diagnostics faults;
  check_accelerators(c, faults);
  std::vector<std::string> said;
  for (const Diagnostic& d : faults) {
    if (d.code == "catalog.gib-as-gb" && d.what.find("profile") != std::string::npos) {
      said.push_back(d.code);
    }
  }
  return said;
}

// The size stands between the first dot and "gb"; a name without it says nothing.
TEST(RowEdges, a_slice_is_no_larger_than_the_size_in_its_name) {
  EXPECT_THAT(said_of_slice("1g.10gb", 10.6), IsEmpty());
  EXPECT_THAT(said_of_slice("1g.10gb", 10.8), ElementsAre("catalog.gib-as-gb"));
  EXPECT_THAT(said_of_slice("1g.10", 40), IsEmpty());
  EXPECT_THAT(said_of_slice("10gb", 40), IsEmpty());
  EXPECT_THAT(said_of_slice("1gb.10", 40), IsEmpty());
  EXPECT_THAT(said_of_slice("1g.xgb", 40), IsEmpty());
}

std::vector<std::string> said_of_supplies(const char* psu, double kw, const char* redundancy) {
  Catalog c;
  c.nodes = {{.id = "n",
              .accelerators = 0,
              .max_power = kilowatts(1),
              .psu = psu,
              .psu_capacity = kilowatts(kw),
              .psu_redundancy = redundancy}};
  Diagnostics faults;
  check_nodes(c, faults);
  std::vector<std::string> said;
  for (const Diagnostic& d : faults) said.push_back(d.what.substr(d.what.find(": ") + 2));
  return said;
}

TEST(RowEdges, supplies_are_one_to_a_thousand) {
  EXPECT_THAT(said_of_supplies("1x3", 3, "1+0"), IsEmpty());
  EXPECT_THAT(said_of_supplies("1x3", 4, "1+0"),
              ElementsAre("1x3 is 3 kW, psu_total_kw says otherwise"));
  EXPECT_THAT(said_of_supplies("1x3", 3, "1+1"), ElementsAre("1x3 supplies cannot be 1+1"));
  EXPECT_THAT(said_of_supplies("1000x3", 4, ""),
              ElementsAre("1000x3 is 3000 kW, psu_total_kw says otherwise"));
  EXPECT_THAT(said_of_supplies("1001x3", 4, ""), IsEmpty());
  EXPECT_THAT(said_of_supplies("0x3", 4, ""), IsEmpty());
  EXPECT_THAT(said_of_supplies("-1x3", 4, ""), IsEmpty());
  EXPECT_THAT(said_of_supplies("x3", 4, ""), IsEmpty());
  EXPECT_THAT(said_of_supplies("2xbig", 4, ""), IsEmpty());
}

TEST(RowEdges, spares_of_supplies_are_counted_where_they_are_numbers) {
  const std::string cannot = "2x3 supplies cannot be ";
  EXPECT_THAT(said_of_supplies("2x3", 6, "2+0"), IsEmpty());
  EXPECT_THAT(said_of_supplies("2x3", 6, "1+1"), IsEmpty());
  EXPECT_THAT(said_of_supplies("2x3", 6, "1+2"), ElementsAre(cannot + "1+2"));
  EXPECT_THAT(said_of_supplies("2x3", 6, "1000+1000"), ElementsAre(cannot + "1000+1000"));
  for (const char* none : {"0+3", "1001+1", "1+1001", "1+-1", "+2", "2+", "2", "n+1"}) {
    EXPECT_THAT(said_of_supplies("2x3", 6, none), IsEmpty()) << none;
  }
}

// 3,653 days of 24 hours.
TEST(RowEdges, hours_of_ten_years_are_read) {
  std::string text = "pue\n";
  for (int i = 0; i < 87'672; ++i) text += "1.2\n";
  const auto hours = read_site_hours(text, "h.csv");
  ASSERT_TRUE(hours);
  EXPECT_EQ(hours->size(), 87'672U);
}

}  // namespace
}  // namespace orrery::catalog
