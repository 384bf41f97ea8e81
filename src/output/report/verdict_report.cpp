#include "output/report/verdict_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <span>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "output/report/bill_json.h"
#include "output/report/charts_svg.h"
#include "output/report/figure_json.h"
#include "output/report/readable.h"

namespace orrery::report {
namespace {

std::string place_text(const Place& p) {
  if (p.line == 0) return p.file;
  return fmt::format("{}:{}:{}", p.file, p.line, p.column);
}

// Only a rule that reports an error counts as broken; warnings and notes do not.
std::string_view mark(Severity s) { return s == Severity::error ? "BROKEN" : to_text(s); }

Tone tone_of(Severity s) {
  return s == Severity::error ? Tone::bad : s == Severity::warning ? Tone::warn : Tone::plain;
}

void add_advice(std::vector<std::string>& lines, const rules::Finding& f) {
  if (!f.why.empty()) lines.push_back("why: " + f.why);
  if (!f.fix.empty()) lines.push_back("fix: " + f.fix);
}

std::string edit_text(const rules::Finding& f) {
  if (f.edit->value.empty()) return "edit: remove " + f.edit->path;
  return fmt::format("edit: {}: {}", f.edit->path, f.edit->value);
}

void add_finding(Document& d, const rules::Finding& f) {
  const std::string at = place_text(f.place);
  d.heading(3, fmt::format("{} {}{}", mark(f.severity), f.rule, at.empty() ? "" : " at " + at),
            tone_of(f.severity));
  d.paragraph(f.what);
  std::vector<std::string> more;
  add_advice(more, f);
  if (f.edit) more.push_back(edit_text(f));
  if (!more.empty()) d.bullets(std::move(more));
}

// Adds findings of one rule that have the same reason and the same fix: each with its place, then
// the advice once.
void add_shared(Document& d, std::span<const rules::Finding* const> findings) {
  std::vector<std::string> lines;
  for (const rules::Finding* f : findings) {
    const std::string at = place_text(f->place);
    lines.push_back(at.empty() ? f->what : at + ": " + f->what);
    if (f->edit) lines.back() += " (" + edit_text(*f) + ")";
  }
  add_advice(lines, *findings.front());
  d.bullets(std::move(lines));
}

// Adds the findings of one rule. Advice that applies to several places is given once.
void add_group(Document& d, std::span<const rules::Finding> group) {
  const rules::Finding& first = group.front();
  d.heading(3, fmt::format("{} {}, {} times", mark(first.severity), first.rule, group.size()),
            tone_of(first.severity));
  std::vector<bool> is_done(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (is_done[i]) continue;
    std::vector<const rules::Finding*> alike;
    for (std::size_t k = i; k < group.size(); ++k) {
      if (group[k].why != group[i].why || group[k].fix != group[i].fix) continue;
      is_done[k] = true;
      alike.push_back(&group[k]);
    }
    add_shared(d, alike);
  }
}

void add_findings(Document& d, const verdict::Verdict& v) {
  d.heading(2, "Rules");
  if (v.findings.empty()) {
    d.paragraph("No rule is broken.");
    return;
  }
  std::vector<bool> is_done(v.findings.size());
  for (std::size_t i = 0; i < v.findings.size(); ++i) {
    if (is_done[i]) continue;
    std::vector<rules::Finding> group;
    for (std::size_t k = i; k < v.findings.size(); ++k) {
      const rules::Finding& f = v.findings[k];
      if (f.rule != v.findings[i].rule || f.severity != v.findings[i].severity) continue;
      is_done[k] = true;
      group.push_back(f);
    }
    if (group.size() == 1) {
      add_finding(d, group.front());
    } else {
      add_group(d, group);
    }
  }
}

void add_goals(Document& d, const verdict::Verdict& v) {
  if (v.goals.empty()) return;
  d.heading(2, "Goals");
  Table t{.header = {"goal", "outcome", "value", "80 % interval"}};
  for (const figures::GoalOutcome& g : v.goals) {
    if (!g.known) {
      t.rows.push_back({g.text, "not known: the design has no such figure", "", ""});
      t.tones.push_back(Tone::bad);
      continue;
    }
    const char* outcome = !g.met     ? "missed"
                          : g.likely ? "met"
                                     : "met on average; may be missed within the 80 % interval";
    t.rows.push_back(
        {g.text, outcome, readable(g.actual.value, g.unit), readable_interval(g.actual, g.unit)});
    t.tones.push_back(!g.met ? Tone::bad : g.likely ? Tone::good : Tone::warn);
  }
  d.table(std::move(t));
  d.drawing(goals_svg(v.goals));
}

// The figures that users ask for most; those that a design does not have are left out.
constexpr figures::FigureId kKeyFigures[] = {figures::FigureId::useful_rate,
                                             figures::FigureId::useful_samples,
                                             figures::FigureId::mfu,
                                             figures::FigureId::run_time,
                                             figures::FigureId::ttft_p99,
                                             figures::FigureId::tpot_p99,
                                             figures::FigureId::replica_capacity,
                                             figures::FigureId::goodput,
                                             figures::FigureId::draw_nameplate,
                                             figures::FigureId::pue,
                                             figures::FigureId::annual,
                                             figures::FigureId::useful_hour};

void add_key_figures(Document& d, const verdict::Verdict& v) {
  std::vector<Tile> tiles;
  // With a single site, its name is not repeated beside its figures.
  const bool many_sites =
      std::ranges::count(v.sections, figures::Layer::facility, &figures::Section::layer) > 1;
  for (const figures::FigureId key : kKeyFigures) {
    for (const figures::Section& s : v.sections) {
      if (s.layer != kind_of(key).layer) continue;
      for (const figures::Figure& f : s.figures) {
        if (f.kind != key) continue;
        const bool is_named =
            !s.name.empty() && (s.layer != figures::Layer::facility || many_sites);
        tiles.push_back({.label = is_named ? s.name + ": " + f.title() : f.title(),
                         .value = readable(f),
                         .detail = readable_interval(f)});
      }
    }
  }
  if (tiles.empty()) return;
  d.heading(2, "Key figures");
  d.tiles(std::move(tiles));
}

// Adds a chart of the bill by section, at the middle of each price range.
void add_bill_chart(Document& d, const catalog::Bill& bill) {
  std::vector<Bar> bars;
  for (const catalog::BillLine& l : bill.lines) {
    if (!l.unit_price) continue;
    const double price = (l.unit_price->low.base() + l.unit_price->high.base()) / 2 * l.count;
    auto bar = std::ranges::find(bars, l.section, &Bar::label);
    if (bar == bars.end()) bar = bars.insert(bars.end(), Bar{.label = l.section});
    bar->value += price;
  }
  if (bars.size() < 2) return;
  std::ranges::stable_sort(bars, std::greater{}, &Bar::value);
  for (Bar& b : bars) b.shown = show(b.value, figures::Unit::usd);
  d.drawing(bars_svg("What is bought, by part of the bill", bars));
}

void add_spends(Document& d, const verdict::Verdict& v) {
  if (v.spends.empty()) return;
  d.heading(2, "Next best spend");
  Table t{.header = {"change", "adds", "goodput", "USD per useful GPU-hour"},
          .flush_right = {false, true, true, true}};
  std::vector<std::string> edits;
  for (const rules::Spend& s : v.spends) {
    t.rows.push_back({s.what, show(s.cost_usd_per_year, figures::Unit::usd_per_year),
                      fmt::format("{} -> {}", show(s.goodput_before, figures::Unit::ratio),
                                  show(s.goodput_after, figures::Unit::ratio)),
                      fmt::format("{} -> {}", significant(s.unit_cost_before_usd, 4),
                                  significant(s.unit_cost_after_usd, 4))});
    edits.push_back(fmt::format("edit: {}: {}", s.change.path, s.change.value));
  }
  d.table(std::move(t));
  d.bullets(std::move(edits));
}

void add_explanation(Document& d, const figures::Section& s) {
  for (const figures::Figure& f : s.figures) {
    if (f.formula.empty() && f.inputs.empty()) continue;
    d.heading(4, fmt::format("why {}: {}", f.title(), show(f.estimate.value, f.unit())));
    if (!f.formula.empty()) d.verbatim(f.formula);
    Table t;
    for (const figures::Input& i : f.inputs) t.rows.push_back({i.name, i.value, i.reference});
    if (!t.rows.empty()) d.table(std::move(t));
  }
}

void add_section(Document& d, const figures::Section& s, VerdictView view) {
  if (!s.name.empty()) d.heading(3, s.name);
  if (!s.summary.empty()) d.paragraph(s.summary);
  Table t{.flush_right = {false, true, false, false, false}};
  for (const figures::Figure& f : s.figures) {
    t.rows.push_back(
        {f.title(), readable(f), readable_interval(f), std::string(to_text(f.estimate.basis))});
    if (view.sources || view.explain) t.rows.back().push_back(f.estimate.reference);
  }
  if (!t.rows.empty()) d.table(std::move(t));
  if (!s.limit.empty()) d.paragraph("limit: " + s.limit);
  if (view.explain) add_explanation(d, s);
}

void add_bill(Document& d, const catalog::Bill& bill) {
  if (bill.lines.empty()) return;
  d.heading(2, "Bill");
  Table t{.header = {"section", "item", "part", "count", "price each", "power each"},
          .flush_right = {false, false, false, true, true, true}};
  for (const catalog::BillLine& l : bill.lines) {
    const std::string price =
        l.unit_price ? fmt::format("{} .. {}", show(l.unit_price->low.base(), figures::Unit::usd),
                                   show(l.unit_price->high.base(), figures::Unit::usd))
                     : "no public price";
    t.rows.push_back({l.section, l.item, l.part_id, show(l.count, figures::Unit::count), price,
                      show(l.unit_power.base(), figures::Unit::watts)});
  }
  d.table(std::move(t));
}

void write_sections(JsonWriter& w, const verdict::Verdict& v, bool for_console) {
  w.key("sections").begin_array();
  for (const figures::Section& s : v.sections) {
    w.begin_object().field("layer", to_text(s.layer)).field("name", s.name);
    w.field("summary", s.summary).field("limit", s.limit).key("figures").begin_object();
    for (const figures::Figure& f : s.figures) {
      for_console ? write_console_figure(w, f) : write_figure(w, f);
    }
    w.end_object().end_object();
  }
  w.end_array();
}

void write_findings(JsonWriter& w, const verdict::Verdict& v) {
  w.key("findings").begin_array();
  for (const rules::Finding& f : v.findings) {
    w.begin_object();
    w.field("severity", to_text(f.severity));
    w.field("rule", f.rule).field("layer", to_text(f.layer));
    w.field("file", f.place.file).field("line", f.place.line).field("column", f.place.column);
    w.field("what", f.what).field("why", f.why).field("fix", f.fix);
    if (f.edit) {
      w.key("edit").begin_object().field("path", f.edit->path).field("value", f.edit->value);
      w.end_object();
    }
    w.end_object();
  }
  w.end_array();
}

void write_goals_and_spends(JsonWriter& w, const verdict::Verdict& v, bool for_console) {
  w.key("goals").begin_array();
  for (const figures::GoalOutcome& g : v.goals) {
    w.begin_object().field("text", g.text);
    if (!for_console) w.field("outcome", outcome_word(g));
    w.field("metric", g.metric).field("met", g.met);
    w.field("met_over_interval", g.likely).field("known", g.known);
    write_goal_numbers(w, g);
    w.end_object();
  }
  w.end_array().key("spends").begin_array();
  for (const rules::Spend& s : v.spends) {
    w.begin_object()
        .field("change", s.what)
        .field("path", s.change.path)
        .field("value", s.change.value);
    w.field("cost_usd_per_year", s.cost_usd_per_year);
    w.field("goodput_before_ratio", s.goodput_before);
    w.field("goodput_after_ratio", s.goodput_after);
    w.field("unit_cost_before_usd_per_hour", s.unit_cost_before_usd);
    w.field("unit_cost_after_usd_per_hour", s.unit_cost_after_usd).end_object();
  }
  w.end_array();
}

}  // namespace

Document document_of(const verdict::Verdict& v, VerdictView view) {
  Document d;
  d.heading(1, fmt::format("{}{}", v.design, v.version.empty() ? "" : ", version " + v.version),
            v.passes() ? Tone::good : Tone::bad);
  d.paragraph(v.summary);
  add_goals(d, v);
  add_findings(d, v);
  add_spends(d, v);
  add_key_figures(d, v);
  if (view.brief) return d;
  add_bill_chart(d, v.bill);
  std::string last_layer;
  for (const figures::Section& s : v.sections) {
    if (!view.explain && is_silent(s)) continue;
    if (last_layer != to_text(s.layer)) d.heading(2, last_layer = to_text(s.layer));
    add_section(d, s, view);
  }
  if (view.explain) add_bill(d, v.bill);
  if (!v.coarse.empty()) {
    d.heading(2, "Accuracy of this review");
    d.bullets(v.coarse);
  }
  d.paragraph(fmt::format("design digest {}", v.digest));
  return d;
}

namespace {

std::string verdict_json_in(const verdict::Verdict& v, bool for_console) {
  JsonWriter w;
  w.begin_object().field("schema_version", for_console ? 1 : 2).field("kind", "verdict");
  w.field("design", v.design).field("version", v.version).field("digest", v.digest);
  w.field("passes", v.passes()).field("summary", v.summary);
  if (!for_console) write_figure_list(w, v.sections);
  write_sections(w, v, for_console);
  write_findings(w, v);
  write_goals_and_spends(w, v, for_console);
  write_bill(w, v.bill);
  w.key("coarse").begin_array();
  for (const std::string& c : v.coarse) w.value(c);
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace

std::string json_of(const verdict::Verdict& v) { return verdict_json_in(v, false); }
std::string console_json_of(const verdict::Verdict& v) { return verdict_json_in(v, true); }

std::string csv_of(const verdict::Verdict& v) {
  std::string out = "layer,section,figure,value,low,high,unit,basis,reference\n";
  for (const figures::Section& s : v.sections) {
    for (const figures::Figure& f : s.figures) {
      out += fmt::format("{},{},{},{},{},{},{},{},{}\n", to_text(s.layer), csv_field(s.name),
                         f.id(), shortest(f.estimate.value), shortest(f.estimate.low),
                         shortest(f.estimate.high), unit_name(f.unit()), to_text(f.estimate.basis),
                         csv_field(f.estimate.reference));
    }
  }
  return out;
}

}  // namespace orrery::report
