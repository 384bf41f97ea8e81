// Comparisons and claims, block by block, and how text is set at the edges of its width.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/claims_report.h"
#include "output/report/comparison_report.h"
#include "output/report/document_fixture.h"

namespace orrery::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Comparison two_designs() {
  Comparison c;
  for (const char* name : {"one", "two"}) {
    ComparedDesign d{.name = name, .stages = {}, .verdict = {}};
    d.stages.cost.annual = Usd(name[0] == 'o' ? 1e6 : 2e6);
    d.stages.cost.goodput = name[0] == 'o' ? 0.5 : 0.75;
    d.stages.cost.wan_per_year = Usd(500);
    c.designs.push_back(std::move(d));
  }
  c.designs[1].verdict.findings = {{.severity = Severity::error, .rule = "a", .what = "x"},
                                   {.severity = Severity::warning, .rule = "b", .what = "y"},
                                   {.severity = Severity::warning, .rule = "b", .what = "z"}};
  c.designs[1].stages.cost.tornado = {.value = 4,
                                      .bars = {{.name = "price",
                                                .at_low = 3,
                                                .at_high = 5,
                                                .input_low = 11,
                                                .input_high = 22,
                                                .reference = "a list"}}};
  const auto figure = [](const char* section, double first, std::optional<double> second) {
    ComparedFigure f{.layer = figures::Layer::cost,
                     .section = section,
                     .id = "x",
                     .label = "the x",
                     .unit = figures::Unit::usd,
                     .values = {}};
    f.values.push_back(Estimate{.value = first, .low = first, .high = first});
    f.values.push_back(second ? std::optional(Estimate{.value = *second}) : std::nullopt);
    return f;
  };
  c.figures = {figure("", 10, 20), figure("hall", 10, std::nullopt), figure("same", 10, 10)};
  c.differences = {{.verdict = "Two costs more.",
                    .effects = {{.section = "fleet",
                                 .cost_usd_per_year = 1e6,
                                 .goodput = 0.25,
                                 .unit_cost_usd = -0.5}}}};
  return c;
}

TEST(comparison_blocks, what_a_pull_request_wants_to_read) {
  const auto usd = [](double v) { return show(v, figures::Unit::usd); };
  const auto lines = lines_of(document_of(two_designs()));
  ASSERT_EQ(lines.size(), 16U);
  const std::vector<std::string> head(lines.begin(), lines.begin() + 7);
  EXPECT_THAT(head,
              ElementsAre("h1: Comparison", "t LRR:  | one | two", "  verdict | passes | fails",
                          "  rules broken | 0 | 1", "  warnings | 0 | 2",
                          fmt::format("  cost | {} | {}", show(1e6, figures::Unit::usd_per_year),
                                      show(2e6, figures::Unit::usd_per_year)),
                          fmt::format("  goodput | {} | {}", show(0.5, figures::Unit::ratio),
                                      show(0.75, figures::Unit::ratio))));
  const std::vector<std::string> tail(lines.begin() + 8, lines.end());
  EXPECT_THAT(tail, ElementsAre("h2: two against one", "p: Two costs more.",
                                "t LRRR: changed section | cost | goodput | useful hour",
                                fmt::format("  fleet | +{} | +25 pp | −{}",
                                            show(1e6, figures::Unit::usd_per_year),
                                            show(0.5, figures::Unit::usd_per_hour)),
                                "h2: Figures that differ", "t LRR: figure | one | two",
                                fmt::format("  cost · the x | {} | {}", usd(10), usd(20)),
                                fmt::format("  cost · hall · the x | {} | –", usd(10))));
}

TEST(comparison_blocks, a_file_that_is_kept_has_what_matters_and_where_the_money_goes) {
  const auto lines = lines_of(document_of(two_designs(), {.whole = true}));
  const auto from = std::ranges::find(lines, "h2: What matters in two");
  ASSERT_NE(from, lines.end()) << "one has no bars";
  EXPECT_EQ(std::ranges::count(lines, "h2: What matters in one"), 0);
  const std::vector<std::string> part(from, from + 12);
  const std::string year = show(500, figures::Unit::usd_per_year);
  EXPECT_THAT(
      part,
      ElementsAre(
          "h2: What matters in two", "svg: <svg",
          "t LRRRL: input | from | to | useful hour | source",
          fmt::format("  price | 11 | 22 | {} … {} | a list", show(3, figures::Unit::usd_per_hour),
                      show(5, figures::Unit::usd_per_hour)),
          "h2: Cost of one", "t LRL: part (* assumed) | per year | source",
          "  cost of a year | " + year + " | docs/models/ownership.md",
          testing::EndsWith("rents and fees | " + year + " | docs/models/ownership.md"),
          testing::EndsWith("lines between sites | " + year + " | the design"), "h2: Cost of two",
          "t LRL: part (* assumed) | per year | source",
          "  cost of a year | " + year + " | docs/models/ownership.md"));
}

TEST(comparison_blocks, nothing_that_differs_is_not_listed) {
  Comparison c = two_designs();
  c.figures = {c.figures[2]};
  c.differences[0].effects.clear();
  const auto lines = lines_of(document_of(c));
  EXPECT_EQ(lines.back(), "p: Two costs more.");
}

TEST(comparison_blocks, a_comparison_is_of_two_to_eight) {
  for (const std::size_t count : {0U, 1U, 9U}) {
    const auto none = compare_designs(std::vector<NamedDesign>(count), machine::Models{});
    ASSERT_FALSE(none) << count;
    EXPECT_EQ(none.error().front().code, "compare.count");
  }
}

calc::ClaimCheck block_claim(const char* id, calc::ClaimVerdict verdict) {
  const auto figure = [](const char* name, double value) {
    return figures::Number{
        .id = name,
        .label = std::string("the ") + name,
        .unit = figures::Unit::ratio,
        .estimate = {.value = value, .low = value, .high = value, .reference = "r"},
        .formula = "a / b",
        .inputs = {}};
  };
  return {.claim = {.id = id,
                    .claim = "it is",
                    .figure = "5",
                    .guide = "a guide",
                    .recompute_from = "rows",
                    .recorded = calc::ClaimVerdict::wrong},
          .finding = {.criterion = {.text = "within 5 %"},
                      .cases = {{figure("c", 0.5), true}, {figure("d", 0.25), false}},
                      .beside = {figure("e", 0.75)}},
          .verdict = verdict,
          .statement = "So it is"};
}

TEST(comparison_blocks, a_claim_with_its_cases) {
  const auto ratio = [](double v) { return show(v, figures::Unit::ratio); };
  const calc::ClaimCheck c = block_claim("k1", calc::ClaimVerdict::holds_only_if);
  EXPECT_THAT(lines_of(document_of(c)),
              ElementsAre("h1: k1: holds only if", "p: it is: 5 (a guide). Criterion: within 5 %.",
                          "p: So it is.", "t LRLLL: case | computed | meets it | arithmetic | from",
                          fmt::format("  the c | {} | yes | a / b | r", ratio(0.5)),
                          fmt::format("  the d | {} | no | a / b | r", ratio(0.25)),
                          fmt::format("  the e | {} |  | a / b | r", ratio(0.75))));
  const std::vector<calc::ClaimCheck> all = {c, block_claim("k2", calc::ClaimVerdict::wrong),
                                             block_claim("k3", calc::ClaimVerdict::holds)};
  const auto brief = lines_of(document_of(std::span<const calc::ClaimCheck>(all), {}));
  ASSERT_EQ(brief.size(), 9U);
  EXPECT_EQ(brief[1],
            "p: 3 claims: 1 hold, 1 hold only if, 1 are wrong, 0 are states that agree as of a "
            "date.");
  EXPECT_EQ(brief[3], "h2: Hold");
  EXPECT_EQ(brief[4], "- k3 (it is: 5): So it is");
  EXPECT_EQ(brief[5], "h2: Hold only if");
  EXPECT_EQ(brief[7], "h2: Wrong");
  const auto full =
      lines_of(document_of(std::span<const calc::ClaimCheck>(all), {.details = true}));
  EXPECT_EQ(full[5], "h3: k3: holds");
  const Json j = Json::parse(json_of(std::span<const calc::ClaimCheck>(all)));
  const Json& k = j["claims"][0];
  EXPECT_EQ(k["id"], "k1");
  EXPECT_EQ(k["claim"], "it is");
  EXPECT_EQ(k["figure"], "5");
  EXPECT_EQ(k["guide"], "a guide");
  EXPECT_EQ(k["recompute_from"], "rows");
  EXPECT_EQ(k["criterion"], "within 5 %");
  EXPECT_EQ(k["statement"], "So it is");
  ASSERT_EQ(k["cases"].size(), 2U);
  EXPECT_EQ(k["cases"][1]["meets"], false);
  EXPECT_EQ(k["cases"][1]["figure"].begin()->at("value"), 0.25);
  EXPECT_EQ(k["beside"].begin()->at("value"), 0.75);
  EXPECT_EQ(j["counts"].size(), 4U);
}

TEST(comparison_blocks, text_keeps_to_a_hundred_columns) {
  EXPECT_EQ(TextStyle{}.width, 100U);
  EXPECT_FALSE(TextStyle{}.has_colour);
  EXPECT_FALSE(TextStyle{}.fits_tables);
  EXPECT_EQ(Heading{}.level, 1);
  Document d;
  d.paragraph(std::string(49, 'a') + "  " + std::string(50, 'b'));
  EXPECT_EQ(to_text(d), std::string(49, 'a') + " " + std::string(50, 'b') + "\n")
      << "a hundred, and one blank for two";
  Document longer;
  longer.paragraph(std::string(50, 'a') + " " + std::string(50, 'b'));
  EXPECT_EQ(to_text(longer), std::string(50, 'a') + "\n" + std::string(50, 'b') + "\n");
}

// A narrow page still leaves fourteen columns to a text.
TEST(comparison_blocks, a_text_is_never_set_narrower_than_fourteen) {
  Document d;
  d.paragraph("aaaaaaa bbbbbb ccccccc ddddddd");
  EXPECT_EQ(to_text(d, {.width = 5}), "aaaaaaa bbbbbb\nccccccc\nddddddd\n");
  EXPECT_EQ(to_text(d, {.width = 15}), "aaaaaaa bbbbbb\nccccccc ddddddd\n");
  Document table;
  table.table({.header = {},
               .rows = {{"aaaaaaa bbbbbb ccccccc", "1234567890"}},
               .flush_right = {false, true}});
  const std::string text = to_text(table, {.width = 5, .fits_tables = true});
  EXPECT_EQ(text, "  aaaaaaa bbbbbb  1234567890\n  ccccccc\n");
  Document numbers;
  numbers.table({.header = {}, .rows = {{"1234567890 1234567890"}}, .flush_right = {true}});
  EXPECT_EQ(to_text(numbers, {.width = 5, .fits_tables = true}), "  1234567890 1234567890\n")
      << "numbers are not broken";
}

TEST(comparison_blocks, tiles_are_a_table_with_the_values_flush_right) {
  Document d;
  d.tiles({{.label = "a", .value = "5", .detail = "4 .. 6"},
           {.label = "bb", .value = "1234", .detail = "x"}});
  EXPECT_EQ(to_text(d), "  a      5  4 .. 6\n  bb  1234  x\n");
  EXPECT_THAT(to_markdown(d), HasSubstr("| --- | ---: | --- |"));
}

}  // namespace
}  // namespace orrery::report
