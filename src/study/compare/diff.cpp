#include "study/compare/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/text.h"
#include "model/design_text/write_design.h"
#include "plan/verdict/verdict.h"

namespace orrery::compare {
namespace {

// Figures that changed by less than this are noise in a report.
constexpr double kLeastChange = 0.005;
constexpr std::size_t kFiguresShown = 20;

struct Totals {
  double annual = 0;
  double goodput = 0;
  double unit = 0;
};

Totals totals_of(const review::Review& r) {
  return {r.cost.annual.base(), r.cost.goodput, r.cost.per_useful_hour.base() * 3600};
}

// Most cells of the table that finds common lines: enough for designs of two thousand lines that
// differ throughout. For larger ones all old lines are shown, then all new ones.
constexpr std::size_t kMostCells = 4'000'000;

using Lines = std::span<const std::string_view>;

// Finds the longest common subsequence of lines.
void diff_into(Lines a, Lines b, std::vector<std::string>& out) {
  const bool small = b.empty() || a.size() <= kMostCells / b.size();
  const std::size_t width = small ? b.size() + 1 : 0;
  std::vector<int> common(small ? (a.size() + 1) * width : 0, 0);
  for (std::size_t i = a.size(); small && i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i * width + j] =
          a[i] == b[j] ? common[(i + 1) * width + j + 1] + 1
                       : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (small && i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
    } else if (j >= b.size() || (i < a.size() && (!small || common[(i + 1) * width + j] >=
                                                                common[i * width + j + 1]))) {
      out.push_back("- " + std::string(a[i++]));
    } else {
      out.push_back("+ " + std::string(b[j++]));
    }
  }
}

std::vector<std::string> line_diff(const std::string& before, const std::string& after) {
  const auto whole_a = split(before, '\n');
  const auto whole_b = split(after, '\n');
  Lines a = whole_a, b = whole_b;
  while (!a.empty() && !b.empty() && a.front() == b.front()) a = a.subspan(1), b = b.subspan(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a = a.first(a.size() - 1), b = b.first(b.size() - 1);
  }
  std::vector<std::string> lines;
  diff_into(a, b, lines);
  return lines;
}

struct SectionSwap {
  const char* name;
  bool (*differs)(const design::Design&, const design::Design&);
  void (*take)(design::Design& into, const design::Design& from);
};

template <auto Member>
constexpr SectionSwap swap_of(const char* name) {
  return {
      name,
      [](const design::Design& a, const design::Design& b) { return !(a.*Member == b.*Member); },
      [](design::Design& into, const design::Design& from) { into.*Member = from.*Member; }};
}

constexpr SectionSwap kSections[] = {
    swap_of<&design::Design::sites>("site"),
    swap_of<&design::Design::fleet>("fleet"),
    swap_of<&design::Design::fabric>("fabric"),
    swap_of<&design::Design::storage>("storage"),
    swap_of<&design::Design::scheduler>("scheduler"),
    swap_of<&design::Design::workloads>("workloads"),
    swap_of<&design::Design::economics>("economics"),
};

std::vector<SectionEffect> attribute(const design::Design& before, const design::Design& after,
                                     const machine::Models& models, const Totals& from,
                                     const Totals& to) {
  std::vector<SectionEffect> effects;
  SectionEffect rest{.section = "together",
                     .cost_usd_per_year = to.annual - from.annual,
                     .goodput = to.goodput - from.goodput,
                     .unit_cost_usd = to.unit - from.unit};
  for (const SectionSwap& s : kSections) {
    if (!s.differs(before, after)) continue;
    design::Design mixed = before;
    s.take(mixed, after);
    const Totals alone = totals_of(review::run_stages(std::move(mixed), models));
    SectionEffect e{.section = s.name,
                    .cost_usd_per_year = alone.annual - from.annual,
                    .goodput = alone.goodput - from.goodput,
                    .unit_cost_usd = alone.unit - from.unit};
    rest.cost_usd_per_year -= e.cost_usd_per_year;
    rest.goodput -= e.goodput;
    rest.unit_cost_usd -= e.unit_cost_usd;
    effects.push_back(std::move(e));
  }
  if (effects.size() > 1) effects.push_back(std::move(rest));
  return effects;
}

std::vector<FigureChange> changed_figures(const verdict::Verdict& before,
                                          const verdict::Verdict& after) {
  std::vector<FigureChange> changes;
  for (const figures::Section& s : after.sections) {
    for (const figures::Figure& f : s.figures) {
      const figures::Figure* old = before.figure(s.layer, f.id(), s.name);
      if (old == nullptr || old->estimate.value == f.estimate.value) continue;
      changes.push_back({.layer = s.layer,
                         .section = s.name,
                         .label = f.title(),
                         .unit = f.unit(),
                         .before = old->estimate.value,
                         .after = f.estimate.value});
    }
  }
  std::erase_if(changes, [](const FigureChange& c) {
    return std::fabs(c.relative()) < kLeastChange && c.before != 0;
  });
  std::ranges::stable_sort(changes, std::greater{},
                           [](const FigureChange& c) { return std::fabs(c.relative()); });
  if (changes.size() > kFiguresShown) changes.resize(kFiguresShown);
  return changes;
}

// Returns the findings of `a` that `b` does not have: compared by rule and words, since line
// numbers change.
std::vector<rules::Finding> missing_in(const std::vector<rules::Finding>& a,
                                       const std::vector<rules::Finding>& b) {
  std::vector<rules::Finding> out;
  for (const rules::Finding& f : a) {
    const bool there = std::ranges::any_of(
        b, [&](const rules::Finding& g) { return g.rule == f.rule && g.what == f.what; });
    if (!there && f.severity != Severity::note) out.push_back(f);
  }
  return out;
}

std::string verdict_line(const DesignDiff& d, const Totals& from, const Totals& to) {
  if (d.same()) return "The designs say the same.";
  const double unit = from.unit > 0 ? to.unit / from.unit - 1 : 0;
  std::string line =
      fmt::format("{} -> {}: {}{} per year, goodput {} -> {}, cost per useful hour {} {}",
                  d.before_name, d.after_name, to.annual >= from.annual ? "+" : "-",
                  show(std::fabs(to.annual - from.annual), figures::Unit::usd),
                  show(from.goodput, figures::Unit::ratio), show(to.goodput, figures::Unit::ratio),
                  unit >= 0 ? "up" : "down", show(std::fabs(unit), figures::Unit::ratio));
  if (d.passed_before != d.passes_after)
    line += d.passes_after ? "; now passes" : "; no longer passes";
  return line + ".";
}

}  // namespace

DesignDiff compare(const Reviewed& before, const Reviewed& after, const machine::Models& models) {
  const verdict::Verdict& a = before.verdict;
  const verdict::Verdict& b = after.verdict;
  const design::Design& from_design = before.stages.design();
  const design::Design& to_design = after.stages.design();
  const Totals from = totals_of(before.stages);
  const Totals to = totals_of(after.stages);
  DesignDiff d{.before_name = from_design.name,
               .after_name = to_design.name,
               .before_digest = a.digest,
               .after_digest = b.digest};
  d.passed_before = a.passes();
  d.passes_after = b.passes();
  d.lines = line_diff(design_text::write_design(from_design), design_text::write_design(to_design));
  d.effects = attribute(from_design, to_design, models, from, to);
  d.figures = changed_figures(a, b);
  d.fixed = missing_in(a.findings, b.findings);
  d.broken = missing_in(b.findings, a.findings);
  d.verdict = verdict_line(d, from, to);
  return d;
}

DesignDiff compare(const design::Design& before, const design::Design& after,
                   const machine::Models& models) {
  const review::Review a = review::run_stages(before, models);
  const review::Review b = review::run_stages(after, models);
  const verdict::Verdict before_verdict = verdict::verdict_of(a, {.spends = false});
  const verdict::Verdict after_verdict = verdict::verdict_of(b, {.spends = false});
  return compare({a, before_verdict}, {b, after_verdict}, models);
}

}  // namespace orrery::compare
