// Designs side by side: each reviewed, every figure of each in one row, and each but the first
// attributed against it. The page (view_compare.h) and the files (comparison_report.h) are both
// made of this, so that they cannot say different things.
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
  std::string name;  // as the page calls it
  design::Design design;
};

struct ComparedDesign {
  std::string name;
  review::Review stages;
  verdict::Verdict verdict;
};

// A row of the table: one figure of one section, wherever a design has it.
struct ComparedFigure {
  figures::Layer layer = figures::Layer::compute;
  std::string section;
  std::string id;
  std::string label;
  figures::Unit unit = figures::Unit::count;
  std::vector<std::optional<Estimate>> values;  // one a design

  // To a person who reads the values: they are not all shown alike.
  bool differs() const;
  // "+3.4 %" of a design against the first; empty where both are the same or one has none.
  std::string change(std::size_t design) const;
};

// One of the few lines that decide: "cost", and its text for each design.
struct SummaryRow {
  std::string label;
  std::vector<std::string> shown;
};

struct Comparison {
  std::vector<ComparedDesign> designs;  // one each
  std::vector<ComparedFigure> figures;
  std::vector<compare::DesignDiff> differences;  // of each further design against the first

  std::vector<SummaryRow> summary() const;
};

// Side by side on a page; each is reviewed and each but the first attributed.
inline constexpr std::size_t kMostCompared = 8;

// Two designs are asked for the same: equal workloads, wherever in each they run.
bool does_same_work(const design::Design& a, const design::Design& b);
// `design` with the workloads of `work` in place of its own, on its first fleet where it has none
// of their fleet's name. None where they cannot run there: a tier or a part that it does not have.
// `read_file` reads the files that both name.
std::optional<design::Design> with_work_of(const design::Design& work, design::Design design,
                                           const catalog::Catalog& catalog,
                                           const catalog::ReadFile& read_file = nullptr);

// Faults: "compare.count".
Result<Comparison> compare_designs(std::vector<NamedDesign> designs, const machine::Models& models);

}  // namespace orrery::report
