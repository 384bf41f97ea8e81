// Published reference tables compared with the topology generator: where they agree, and which
// printed figures are wrong.
//
// fabric_counts.csv: rows of the SuperPOD documents. A row with counts other than the rules give is
// a finding "published.counts". fabric_errata.csv: figures known to be misprinted or to differ
// between editions. Each is recomputed here and reported as "published.misprint" or
// "published.editions" with the right figure, or not at all if it turns out to be right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/csv.h"
#include "core/base/diagnostic.h"
#include "core/catalog/embedded_table.h"
#include "layers/fabric/topology.h"

namespace orrery::fabric {
namespace {

using testing::HasSubstr;

int whole(const CsvTable& t, const CsvRow& r, std::string_view column) {
  return static_cast<int>(t.integer(r, column).value_or(0));
}

Diagnostic finding(const CsvTable& t, const CsvRow& r, std::string code, std::string what,
                   std::string why, std::string fix) {
  return {.severity = Severity::warning,
          .code = std::move(code),
          .place = {.file = t.file(), .line = r.line, .column = 1},
          .what = std::move(what),
          .why = std::move(why),
          .fix = std::move(fix)};
}

// Returns the spec that a row of fabric_counts.csv describes.
FabricSpec published_spec(const CsvTable& table, const CsvRow& row) {
  const int nodes = whole(table, row, "nodes");
  return {.kind = catalog::TopologyKind::rail_fat_tree,
          .nodes = nodes,
          .rails = 8,
          .radix = whole(table, row, "radix"),
          .planes = whole(table, row, "planes"),
          .manager_ports = whole(table, row, "manager_ports")};
}

Diagnostics check_row(const CsvTable& t, const CsvRow& r) {
  const Result<Topology> made = make_topology(published_spec(t, r));
  if (!made) return made.error();
  const std::array<std::pair<const char*, std::int64_t>, 7> counts = {{
      {"gpus", std::int64_t{made->spec.nodes} * made->spec.rails},
      {"leaf", made->leaves},
      {"spine", made->spines},
      {"core", made->cores},
      {"node_leaf_cables", made->node_cables() + made->manager_links},
      {"leaf_spine_cables", made->leaf_spine_cables()},
      {"spine_core_cables", made->spine_core_cables()},
  }};
  Diagnostics out;
  for (const auto& [column, count] : counts) {
    const std::int64_t printed = t.integer(r, column).value_or(-1);
    if (printed == count) continue;
    out.push_back(finding(t, r, "published.counts",
                          std::string(t.text(r, "design")) + ": " + column + " printed " +
                              std::to_string(printed) + ", the rule gives " + std::to_string(count),
                          "", ""));
  }
  return out;
}

// The right figure for a row of fabric_errata.csv and the reason; empty if the printed one is
// right.
struct Right {
  std::string value;
  std::string why;
};

Right right_figure(const CsvTable& t, const CsvRow& r) {
  const std::string_view check = t.text(r, "check");
  const int nodes = whole(t, r, "nodes"), per_node = whole(t, r, "gpus_per_node");
  const int unit = whole(t, r, "su_nodes"), radix = whole(t, r, "radix");
  const int printed = whole(t, r, "printed");
  const auto unless = [&](int right, std::string why) {
    return right == printed ? Right{} : Right{std::to_string(right), std::move(why)};
  };
  if (check == "gpus") {
    return unless(nodes * per_node, std::to_string(nodes) + " x " + std::to_string(per_node) +
                                        " = " + std::to_string(nodes * per_node));
  }
  if (check == "units" && unit > 0) {
    return unless(nodes / unit,
                  std::to_string(nodes) + " nodes in units of " + std::to_string(unit));
  }
  if (check == "tiers") {
    const auto made = make_topology({.kind = catalog::TopologyKind::rail_fat_tree,
                                     .nodes = nodes,
                                     .rails = per_node,
                                     .radix = radix});
    if (made && made->tiers == 2) {
      return {"0", "a network of two tiers has no core and no cables to one"};
    }
    return {};
  }
  const std::string other(t.text(r, "other_edition"));
  if (other.empty() || other == t.text(r, "printed")) return {};
  if (check == "memory") return {other, "the figure of the older part is repeated"};
  return {"", "another edition of the document says " + other};
}

// Returns one finding per row and count that differs; empty if all rows match exactly.
Diagnostics check_published_counts(const CsvTable& counts) {
  Diagnostics out;
  for (const CsvRow& row : counts.rows()) {
    for (Diagnostic& d : check_row(counts, row)) out.push_back(std::move(d));
  }
  return out;
}

Diagnostics check_published_errata(const CsvTable& errata) {
  Diagnostics out;
  for (const CsvRow& row : errata.rows()) {
    const Right right = right_figure(errata, row);
    if (right.why.empty()) continue;
    const std::string printed(errata.text(row, "printed"));
    out.push_back(finding(errata, row,
                          right.value.empty() ? "published.editions" : "published.misprint",
                          std::string(errata.text(row, "document")) + " prints " +
                              (printed.empty() ? "a figure" : printed) + " for " +
                              std::string(errata.text(row, "item")),
                          right.why, right.value.empty() ? "" : "read " + right.value));
  }
  return out;
}

// SuperPOD reference architectures: 27 catalog rows with counts and 11 rows that were read again.
TEST(TopologyPublished, gives_every_published_count_exactly) {
  const CsvTable counts = catalog::embedded_table("validation/fabric_counts.csv").value();
  EXPECT_EQ(counts.rows().size(), 38u);
  EXPECT_EQ(to_text(check_published_counts(counts)), "");
}

TEST(TopologyPublished, checker_sees_a_wrong_count) {
  const auto table = CsvTable::parse(
      "design,nodes,gpus,radix,planes,manager_ports,leaf,spine,core,node_leaf_cables,"
      "leaf_spine_cables,spine_core_cables\nx,95,760,64,1,4,24,12,0,764,768,0\n",
      "t.csv");
  const Diagnostics found = check_published_counts(*table);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].what, testing::AllOf(HasSubstr("12"), HasSubstr("16")));
}

TEST(TopologyPublished, reports_the_published_misprints) {
  const CsvTable errata = catalog::embedded_table("validation/fabric_errata.csv").value();
  const Diagnostics found = check_published_errata(errata);
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].code, "published.misprint");
  EXPECT_EQ(found[0].fix, "read 10368");
  EXPECT_EQ(found[1].fix, "read 64");
  EXPECT_EQ(found[2].fix, "read 0");
  EXPECT_EQ(found[3].code, "published.editions");
  EXPECT_EQ(found[4].code, "published.editions");
  EXPECT_EQ(found[5].fix, "read 270");
}

TEST(TopologyPublished, correct_figure_is_not_an_erratum) {
  const auto table = CsvTable::parse(
      "document,item,check,nodes,gpus_per_node,su_nodes,radix,printed,other_edition\n"
      "d,GPUs,gpus,1296,8,72,144,10368,\n",
      "t.csv");
  EXPECT_TRUE(check_published_errata(*table).empty());
}

}  // namespace
}  // namespace orrery::fabric
