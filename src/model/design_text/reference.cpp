#include <fmt/core.h>

#include "model/design/goals.h"
#include "model/design_text/schema.h"
#include "model/design_text/shape.h"
#include "model/design_text/templates.h"

namespace orrery::design_text {
namespace {

// The text of the page; the tables below it are generated.
constexpr std::string_view kOpening = R"(# The design file

One YAML file describes one AI data centre. `orrery init --template NAME` writes one to start from,
`orrery init --schema` prints a JSON Schema for your editor. This page is made from the table that
the reader itself uses.

- A quantity carries its unit: `44 kW`, `2 PB`, `400 Gb/s`, `0.08 USD/kWh`, `150 USD/kW/month`. A
  bare number where a unit belongs is an error. `B` is a byte and `b` a bit; `k M G T P` are decimal,
  `Ki Mi Gi Ti Pi` binary. `y` is 365 days and `month` a twelfth of it.
- A plain number may end in `K`, `M`, `B` or `T`: `tokens: 2T`. A share is `0.9` or `90 %`.
- Ids name rows of the catalog (`orrery catalog`); names refer to other entries of the file.
- A field that is left out has the default shown. "Left out" describes values that are computed or
  taken from the catalog.
- Every accepted field changes a result. "moves" names a figure of `orrery plan` and its direction
  when the value grows or becomes true; a figure of `orrery simulate` ("of a run") if the review
  does not have it; a rule whose finding appears or disappears; or an emitted file that changes. A
  test proves this for every field except those in tests/rich/unproven.txt. A field that cannot act
  yet is refused, with the reason in that column.
- A file is at most 1 MiB, nests at most 32 levels and holds at most 50,000 values. Anchors and
  aliases work; merge keys (`<<`), tags and several documents do not.
- All faults are reported at once, with line, column, reason and fix; the exit code is then 2.
)";

std::string kind_text(const FieldShape& f) {
  switch (f.kind) {
    case ValueKind::quantity:
    case ValueKind::degrees:
      return fmt::format("quantity ({})", f.field.unit);
    case ValueKind::number:
      return "number";
    case ValueKind::share:
      return "share";
    case ValueKind::integer:
      return "whole number";
    case ValueKind::boolean:
      return "true or false";
    case ValueKind::text:
      return f.field.part == design::Part::none ? "text" : "catalog id";
    case ValueKind::word: {
      std::string all;
      for (const std::string_view w : f.words)
        all += (all.empty() ? "`" : ", `") + std::string(w) + '`';
      return all;
    }
    case ValueKind::section:
      return fmt::format("[{}](#{})", f.section, [&] {
        std::string anchor = f.section;
        for (char& c : anchor) c = c == ' ' ? '-' : c;
        return anchor;
      }());
    case ValueKind::workload:
      return "one of [train](#train), [serve](#serve), [jobs](#jobs), [batch](#batch)";
    case ValueKind::goal:
      return "[goal](#goals)";
    case ValueKind::slices:
      return "profile: count";
    case ValueKind::keep_rules:
      return "tier: count or `milestones`";
  }
  return "";
}

std::string default_of(const FieldShape& f) {
  if (f.field.required) return "required";
  if (!f.field.absent.empty()) return "left out: " + std::string(f.field.absent);
  if (!f.default_text.empty()) return '`' + f.default_text + '`';
  return "";
}

// "`annual` rises", "rule `fabric.endpoints`", "not yet: ...".
std::string moves_of(const design::Field& f) {
  if (!f.not_yet.empty()) return "not yet: " + std::string(f.not_yet);
  const auto space = f.moves.find(' ');
  if (space == std::string_view::npos) return std::string(f.moves);
  const std::string_view first = f.moves.substr(0, space);
  const std::string_view rest = f.moves.substr(space + 1);
  if (first == "run") {
    const auto figure = rest.substr(0, rest.find(' '));
    return fmt::format("`{}` of a run{}", figure, rest.substr(figure.size()));
  }
  if (first == "emit") {
    if (rest == "store") return "the files of `orrery store`";
    return rest.empty() ? "emitted files" : fmt::format("files of `orrery emit {}`", rest);
  }
  return first == "rule" ? fmt::format("rule `{}`", rest) : fmt::format("`{}` {}", first, rest);
}

std::string section_text(const SectionShape& section) {
  std::string out = fmt::format(
      "\n## {}\n\n| field | value | default | meaning | moves |\n|---|---|---|---|---|\n",
      section.name);
  for (const FieldShape& f : section.fields) {
    std::string meaning(f.field.doc);
    if (!f.field.example.empty()) meaning += fmt::format(" (`{}`)", f.field.example);
    out += fmt::format("| `{}` | {}{}{} | {} | {} | {} |\n", f.key, f.is_list ? "list of " : "",
                       kind_text(f), f.field.automatic ? ", or `auto`" : "", default_of(f), meaning,
                       moves_of(f.field));
  }
  return out;
}

}  // namespace

std::string design_reference() {
  std::string out(kOpening);
  for (const SectionShape& section : design_shape()) out += section_text(section);
  out +=
      "\n## goals\n\nA goal is a metric, one of `<`, `<=`, `>=`, `>`, and a bound with its "
      "unit.\n\n";
  out += "| metric | unit | meaning |\n|---|---|---|\n";
  for (const design::GoalMetric& m : design::goal_metrics()) {
    out += fmt::format("| `{}` | {} | {} |\n", m.name, m.unit, m.doc);
  }
  out += "\n## templates\n\n| name | what |\n|---|---|\n";
  for (const Template& t : templates()) out += fmt::format("| `{}` | {} |\n", t.name, t.summary);
  return out;
}

}  // namespace orrery::design_text
