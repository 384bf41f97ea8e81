#include "output/report/claims_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/json_writer.h"
#include "output/report/figure_json.h"

namespace orrery::report {
namespace {

constexpr std::array kOrder = {calc::ClaimVerdict::holds, calc::ClaimVerdict::holds_only_if,
                               calc::ClaimVerdict::wrong, calc::ClaimVerdict::as_of};

const char* spelt(calc::ClaimVerdict v) {
  switch (v) {
    case calc::ClaimVerdict::holds:
      return "holds";
    case calc::ClaimVerdict::holds_only_if:
      return "holds only if";
    case calc::ClaimVerdict::wrong:
      return "wrong";
    case calc::ClaimVerdict::as_of:
      return "as of its date";
  }
  return "";
}

std::string heading_of(calc::ClaimVerdict v) {
  switch (v) {
    case calc::ClaimVerdict::holds:
      return "Hold";
    case calc::ClaimVerdict::holds_only_if:
      return "Hold only if";
    case calc::ClaimVerdict::wrong:
      return "Wrong";
    case calc::ClaimVerdict::as_of:
      return "State of a project, as of its date";
  }
  return "";
}

std::string counts_text(std::span<const calc::ClaimCheck> checks) {
  const auto n = [&](calc::ClaimVerdict v) {
    return std::ranges::count(checks, v, &calc::ClaimCheck::verdict);
  };
  return fmt::format(
      "{} hold, {} hold only under a condition, {} are wrong, {} describe a project and are right "
      "as of a date",
      n(calc::ClaimVerdict::holds), n(calc::ClaimVerdict::holds_only_if),
      n(calc::ClaimVerdict::wrong), n(calc::ClaimVerdict::as_of));
}

std::string says(const calc::ClaimCheck& c) {
  return fmt::format("{}: {}", c.claim.claim, c.claim.figure);
}

Table cases_table(const calc::ClaimCheck& c) {
  Table t{.header = {"case", "computed", "meets it", "arithmetic", "from"},
          .rows = {},
          .flush_right = {false, true, false, false, false}};
  const auto row = [&](const figures::Number& f, const char* meets) {
    t.rows.push_back(
        {f.label, show(f.estimate.value, f.unit), meets, f.formula, f.estimate.reference});
  };
  for (const calc::ClaimCase& k : c.finding.cases) row(k.figure, k.meets ? "yes" : "no");
  for (const figures::Number& f : c.finding.beside) row(f, "");
  return t;
}

void add_claim(Document& d, const calc::ClaimCheck& c, int level) {
  d.heading(level, fmt::format("{}: {}", c.claim.id, spelt(c.verdict)));
  d.paragraph(
      fmt::format("{} ({}). Criterion: {}.", says(c), c.claim.guide, c.finding.criterion.text));
  d.paragraph(c.statement + ".");
  d.table(cases_table(c));
}

// Adds a bullet per claim, because sentences do not fit into the columns of a terminal.
void add_brief(Document& d, std::span<const calc::ClaimCheck> checks, calc::ClaimVerdict v) {
  std::vector<std::string> items;
  for (const calc::ClaimCheck& c : checks) {
    if (c.verdict == v)
      items.push_back(fmt::format("{} ({}): {}", c.claim.id, says(c), c.statement));
  }
  d.bullets(std::move(items));
}

void write_check(JsonWriter& w, const calc::ClaimCheck& c) {
  w.begin_object().field("id", c.claim.id).field("claim", c.claim.claim);
  w.field("figure", c.claim.figure).field("guide", c.claim.guide);
  w.field("recompute_from", c.claim.recompute_from);
  w.field("verdict", to_text(c.verdict)).field("recorded", to_text(c.claim.recorded));
  w.field("criterion", c.finding.criterion.text).field("statement", c.statement);
  w.key("cases").begin_array();
  for (const calc::ClaimCase& k : c.finding.cases) {
    w.begin_object().field("meets", k.meets).key("figure").begin_object();
    write_figure(w, k.figure);
    w.end_object().end_object();
  }
  w.end_array().key("beside").begin_object();
  for (const figures::Number& f : c.finding.beside) write_figure(w, f);
  w.end_object().end_object();
}

}  // namespace

Document document_of(std::span<const calc::ClaimCheck> checks, ClaimsView view) {
  Document d;
  d.heading(1, "Claims of published guides, recomputed");
  d.paragraph(fmt::format("{} claims: {}.", checks.size(), counts_text(checks)));
  d.paragraph(
      "Each claim is tested in the cases shown, against its criterion. It holds if all cases meet "
      "the criterion, holds only under a condition if some do, and is wrong if none does. "
      "\"About\" means within 5 % unless the criterion says otherwise. The cases are chosen: if a "
      "claim depends on a quantity, there are cases on both sides of the computed threshold, and "
      "the condition is then the result.");
  if (view.details) {
    d.paragraph(
        "Printed by `orrery explain claims --format markdown`. A test keeps this page equal to "
        "that output, and another fails if a verdict differs from the one in data/claims.csv.");
  }
  for (const calc::ClaimVerdict v : kOrder) {
    if (std::ranges::find(checks, v, &calc::ClaimCheck::verdict) == checks.end()) continue;
    d.heading(2, heading_of(v));
    if (!view.details) {
      add_brief(d, checks, v);
      continue;
    }
    for (const calc::ClaimCheck& c : checks) {
      if (c.verdict == v) add_claim(d, c, 3);
    }
  }
  return d;
}

Document document_of(const calc::ClaimCheck& check) {
  Document d;
  add_claim(d, check, 1);
  return d;
}

std::string json_of(std::span<const calc::ClaimCheck> checks) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "claims");
  w.key("counts").begin_object();
  for (const calc::ClaimVerdict v : kOrder) {
    w.field(to_text(v), std::ranges::count(checks, v, &calc::ClaimCheck::verdict));
  }
  w.end_object().key("claims").begin_array();
  for (const calc::ClaimCheck& c : checks) write_check(w, c);
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
