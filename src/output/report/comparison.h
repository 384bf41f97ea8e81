// Designs side by side: each is reviewed, each figure is one row, and each design but the first is
// compared with the first, with attribution. The page (view_compare.h) and the files
// (comparison_report.h) are both made from this, so they cannot contradict each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "model/design/design.h"
#include "model/machine/models.h"
#include "plan/verdict/verdict.h"
#include "study/compare/diff.h"

namespace orrery::report {

struct NamedDesign {
  std::string name;  // name on the page
  design::Design design;
};

struct ComparedDesign {
  std::string name;
  review::Review stages;
  verdict::Verdict verdict;
};

// A row of the table: one figure of one section that at least one design has.
struct ComparedFigure {
  figures::Layer layer = figures::Layer::compute;
  std::string section;
  std::string id;
  std::string label;
  figures::Unit unit = figures::Unit::count;
  std::vector<std::optional<Estimate>> values;  // one per design

  // Returns true if the values are not all displayed alike.
  bool differs() const;
  // Returns the change of a design against the first, such as "+3.4 %". Empty if both are the same
  // or one has no value.
  std::string change(std::size_t design) const;
};

// A row of the summary, such as "cost", with its text for each design.
struct SummaryRow {
  std::string label;
  std::vector<std::string> shown;
};

struct Comparison {
  std::vector<ComparedDesign> designs;  // reviewed designs
  std::vector<ComparedFigure> figures;
  std::vector<compare::DesignDiff> differences;  // each further design against the first

  std::vector<SummaryRow> summary() const;
};

// Most designs in one comparison.
inline constexpr std::size_t kMostCompared = 8;

// Returns true if two designs have equal workloads, on whichever fleets they run.
bool does_same_work(const design::Design& a, const design::Design& b);
// Returns `design` with the workloads of `work` in place of its own. Workloads go to the first
// fleet if their fleet's name does not exist in `design`. Returns none if they cannot run there
// because a tier or a part is missing. `read_file` reads the files that both designs name.
std::optional<design::Design> with_work_of(const design::Design& work, design::Design design,
                                           const catalog::Catalog& catalog,
                                           const catalog::ReadFile& read_file = nullptr);

// Fails with "compare.count".
Result<Comparison> compare_designs(std::vector<NamedDesign> designs, const machine::Models& models);

}  // namespace orrery::report
