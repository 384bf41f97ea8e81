#include "output/report/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "model/design_text/read_design.h"
#include "model/design_text/write_design.h"
#include "plan/verdict/verdict.h"

namespace orrery::report {
namespace {

// Returns the value in exactly this section. (Verdict::figure accepts an empty section name for
// any.)
std::optional<Estimate> value_in(const verdict::Verdict& v, const ComparedFigure& row) {
  for (const figures::Section& s : v.sections) {
    if (s.layer != row.layer || s.name != row.section) continue;
    const auto found = std::ranges::find(s.figures, row.id, &figures::Figure::id);
    if (found != s.figures.end()) return found->estimate;
  }
  return std::nullopt;
}

// Returns one row per figure, in the order of the first design that has it. Figures that only later
// designs have come at the end of their layer.
std::vector<ComparedFigure> figures_of(const std::vector<ComparedDesign>& designs) {
  std::vector<ComparedFigure> rows;
  for (const ComparedDesign& d : designs) {
    for (const figures::Section& s : d.verdict.sections) {
      for (const figures::Figure& f : s.figures) {
        const std::string id = f.id();
        const bool there = std::ranges::any_of(rows, [&](const ComparedFigure& r) {
          return r.layer == s.layer && r.section == s.name && r.id == id;
        });
        if (!there) rows.push_back({s.layer, s.name, id, f.title(), f.unit(), {}});
      }
    }
  }
  std::ranges::stable_sort(rows, {}, &ComparedFigure::layer);
  for (ComparedFigure& row : rows) {
    for (const ComparedDesign& d : designs) row.values.push_back(value_in(d.verdict, row));
  }
  return rows;
}

}  // namespace

bool ComparedFigure::differs() const {
  const auto text = [this](const std::optional<Estimate>& v) {
    return v ? show(v->value, unit) : "";
  };
  return std::ranges::any_of(values, [&](const auto& v) { return text(v) != text(values[0]); });
}

std::string ComparedFigure::change(std::size_t design) const {
  const std::optional<Estimate>& first = values[0];
  const std::optional<Estimate>& other = values[design];
  if (!first || !other || first->value == 0) return "";
  const double percent = (other->value / first->value - 1) * 100;
  const double size = std::fabs(percent);
  if (size < 0.05) return "";
  return fmt::format("{}{:.{}f} %", percent > 0 ? "+" : "−", size, size < 10 ? 1 : 0);
}

std::vector<SummaryRow> Comparison::summary() const {
  const auto row = [this](std::string label, auto text) {
    SummaryRow made{std::move(label), {}};
    for (const ComparedDesign& d : designs) made.shown.push_back(text(d));
    return made;
  };
  const auto found = [](Severity severity) {
    return [severity](const ComparedDesign& d) {
      return std::to_string(
          std::ranges::count(d.verdict.findings, severity, &rules::Finding::severity));
    };
  };
  return {
      row("verdict", [](const auto& d) { return d.verdict.passes() ? "passes" : "fails"; }),
      row("rules broken", found(Severity::error)),
      row("warnings", found(Severity::warning)),
      row("cost",
          [](const auto& d) {
            return figures::show(d.stages.cost.annual.base(), figures::Unit::usd_per_year);
          }),
      row("goodput",
          [](const auto& d) { return figures::show(d.stages.cost.goodput, figures::Unit::ratio); }),
      row("useful GPU-hour", [](const auto& d) {
        return figures::show(d.stages.cost.per_useful_hour.base() * 3600,
                             figures::Unit::usd_per_hour);
      })};
}

Result<Comparison> compare_designs(std::vector<NamedDesign> designs,
                                   const machine::Models& models) {
  if (designs.size() < 2 || designs.size() > kMostCompared) {
    return fail({.code = "compare.count", .what = "2 to 8 designs can be compared"});
  }
  Comparison c;
  for (NamedDesign& d : designs) {
    review::Review stages = review::run_stages(std::move(d.design), models);
    verdict::Verdict verdict = verdict::verdict_of(stages, {.spends = false});
    c.designs.push_back({std::move(d.name), std::move(stages), std::move(verdict)});
  }
  c.figures = figures_of(c.designs);
  const ComparedDesign& first = c.designs[0];
  for (std::size_t i = 1; i < c.designs.size(); ++i) {
    const ComparedDesign& other = c.designs[i];
    c.differences.push_back(
        compare::compare({first.stages, first.verdict}, {other.stages, other.verdict}, models));
  }
  return c;
}

bool does_same_work(const design::Design& a, const design::Design& b) {
  const auto plain = [](const design::Design& d) {
    std::vector<design::Workload> all = d.workloads;
    for (design::Workload& w : all) {
      w.terms.fleet.clear();
      w.terms.nodes.reset();
    }
    return all;
  };
  return plain(a) == plain(b);
}

std::optional<design::Design> with_work_of(const design::Design& work, design::Design design,
                                           const catalog::Catalog& catalog,
                                           const catalog::ReadFile& read_file) {
  design.workloads = work.workloads;
  for (design::Workload& w : design.workloads) {
    auto fleet = std::ranges::find(design.fleet, w.terms.fleet, &design::Fleet::name);
    if (fleet == design.fleet.end()) {
      w.terms.fleet.clear();
      fleet = design.fleet.begin();
    }
    if (fleet == design.fleet.end()) continue;  // the design has no machines
    if (w.terms.nodes && *w.terms.nodes > fleet->count) w.terms.nodes.reset();
  }
  // The reader decides whether all required names exist.
  auto read = design_text::read_design(design_text::write_design(design), catalog,
                                       {.file = design.name, .read_file = read_file});
  if (!read) return std::nullopt;
  return std::move(*read);
}

}  // namespace orrery::report
