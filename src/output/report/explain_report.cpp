#include "output/report/explain_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "core/base/csv.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "model/design_text/profiles.h"
#include "output/report/figure_json.h"

namespace orrery::report {
namespace {

void add_in_full(Document& d, const PlacedFigure& p) {
  const figures::Figure& f = *p.figure;
  d.heading(1, p.section->name.empty() ? p.path() : p.path() + " of " + p.section->name);
  const std::string interval = show_interval(f.estimate, f.unit());
  d.paragraph(fmt::format("{}: {}{} ({})", f.title(), show(f.estimate.value, f.unit(), 4),
                          interval.empty() ? "" : ", 80 % interval " + interval,
                          to_text(f.estimate.basis)));
  if (!f.formula.empty()) d.verbatim(f.formula);
  Table t{.header = {"input", "value", "from"}, .rows = {}, .flush_right = {false, true, false}};
  for (const figures::Input& i : f.inputs) t.rows.push_back({i.name, i.value, i.reference});
  if (!t.rows.empty()) d.table(std::move(t));
  if (!f.estimate.reference.empty()) d.paragraph("Reference: " + f.estimate.reference);
  if (!p.section->limit.empty()) d.paragraph("Bottleneck: " + p.section->limit);
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<design_text::ProfileField> fields_of(const catalog::StorageProfile& profile,
                                                 const catalog::Catalog& catalog) {
  return design_text::profile_fields({.profile = profile.id}, catalog);
}

}  // namespace

Result<std::vector<GlossaryEntry>> read_glossary(const catalog::Knowledge& knowledge) {
  const auto table = knowledge.table("glossary.csv");
  if (!table) return std::unexpected(table.error());
  std::vector<GlossaryEntry> out;
  for (const CsvRow& row : table->rows()) {
    GlossaryEntry& entry = out.emplace_back();
    entry.word = table->text(row, "word");
    entry.stands_for = table->text(row, "stands_for");
    entry.meaning = table->text(row, "meaning");
    for (const std::string_view word : split(table->text(row, "avoid"), ';')) {
      if (!trimmed(word).empty()) entry.avoided.emplace_back(trimmed(word));
    }
  }
  return out;
}

bool GlossaryEntry::is_named(std::string_view wanted) const {
  const std::string name = lowered(wanted);
  return lowered(word) == name ||
         std::ranges::any_of(avoided, [&](const std::string& w) { return lowered(w) == name; });
}

std::string definition_of(const GlossaryEntry& entry) {
  std::string text = entry.stands_for.empty()
                         ? entry.meaning
                         : fmt::format("{}: {}", entry.stands_for, entry.meaning);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (!entry.avoided.empty()) {
    text += fmt::format(". We write \"{}\", not: {}", entry.word, list_of(entry.avoided));
  }
  return text + '.';
}

Document document_of(std::span<const GlossaryEntry> entries) {
  Document d;
  d.heading(1, "Glossary");
  d.paragraph(
      "The terms that the design file, the reports, the JSON and the console share. Each has the "
      "same meaning everywhere. A command such as `orrery explain talk` also finds a term by a "
      "word that we avoid.");
  std::vector<std::string> items;
  for (const GlossaryEntry& e : entries) {
    items.push_back(e.stands_for.empty()
                        ? fmt::format("{}: {}", e.word, e.meaning)
                        : fmt::format("{} ({}): {}", e.word, e.stands_for, e.meaning));
    if (!e.avoided.empty()) items.back() += ". Not: " + list_of(e.avoided);
  }
  d.bullets(std::move(items));
  return d;
}

std::string json_of(std::span<const GlossaryEntry> entries) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "glossary");
  w.key("words").begin_array();
  for (const GlossaryEntry& e : entries) {
    w.begin_object().field("word", e.word).field("stands_for", e.stands_for);
    w.field("meaning", e.meaning).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

Document document_of(std::span<const rules::Rule> rules) {
  Document d;
  d.heading(1, rules.size() == 1 ? rules.front().id : "Rules of the review");
  std::vector<std::string> items;
  for (const rules::Rule& r : rules) {
    items.push_back(fmt::format("{} ({}, {}): {}. Source: {}", r.id, to_text(r.layer),
                                to_text(r.severity), r.summary, r.source));
  }
  d.bullets(std::move(items));
  return d;
}

std::string json_of(std::span<const rules::Rule> rules) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "rules");
  w.key("rules").begin_array();
  for (const rules::Rule& r : rules) {
    w.begin_object().field("id", r.id).field("layer", to_text(r.layer));
    w.field("severity", to_text(r.severity)).field("summary", r.summary);
    w.field("source", r.source).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

Document document_of(const catalog::StorageProfile& profile, const catalog::Catalog& catalog) {
  Document d;
  d.heading(2, fmt::format("The storage profile {}: {}", profile.id, profile.title));
  d.paragraph(profile.why);
  std::vector<std::vector<std::string>> rows;
  for (const design_text::ProfileField& f : fields_of(profile, catalog)) {
    rows.push_back({f.key, f.profile});
  }
  d.table({.header = {"field", "value"}, .rows = std::move(rows), .flush_right = {}});
  d.paragraph(
      fmt::format("Use it in a design with storage: [{{ profile: {} }}]. Fields that the entry "
                  "itself sets override the profile. Source: {}",
                  profile.id, profile.provenance.reference));
  return d;
}

Document document_of(std::span<const catalog::StorageProfile> profiles) {
  Document d;
  d.heading(1, "Storage profiles");
  std::vector<std::string> items;
  for (const catalog::StorageProfile& p : profiles) {
    items.push_back(fmt::format("{}: {}. {}", p.id, p.title, p.settings));
  }
  d.bullets(std::move(items));
  return d;
}

std::string json_of(std::span<const catalog::StorageProfile> profiles,
                    const catalog::Catalog& catalog) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "profiles");
  w.key("profiles").begin_array();
  for (const catalog::StorageProfile& p : profiles) {
    w.begin_object().field("id", p.id).field("title", p.title).field("why", p.why);
    w.key("settings").begin_object();
    for (const design_text::ProfileField& f : fields_of(p, catalog)) w.field(f.key, f.profile);
    w.end_object().field("source", p.provenance.reference).end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

std::string PlacedFigure::path() const {
  return fmt::format("{}.{}", to_text(section->layer), figure->id());
}

std::vector<PlacedFigure> figures_named(const verdict::Verdict& v, std::string_view name) {
  std::vector<PlacedFigure> out;
  for (const figures::Section& s : v.sections) {
    for (const figures::Figure& f : s.figures) {
      const PlacedFigure p{&s, &f};
      if (name.empty() || name == f.id() || name == to_text(s.layer) || name == p.path())
        out.push_back(p);
    }
  }
  return out;
}

std::vector<std::string> figure_names(const verdict::Verdict& v) {
  std::vector<std::string> out;
  for (const figures::Section& s : v.sections) {
    out.push_back(to_text(s.layer));
    for (const figures::Figure& f : s.figures) {
      out.push_back(f.id());
      out.push_back(PlacedFigure{&s, &f}.path());
    }
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Document document_of(std::span<const PlacedFigure> figures, bool in_full) {
  Document d;
  if (in_full) {
    for (const PlacedFigure& p : figures) add_in_full(d, p);
    return d;
  }
  Table t{.header = {"figure", "of", "value", "meaning"},
          .rows = {},
          .flush_right = {false, false, true, false}};
  for (const PlacedFigure& p : figures) {
    t.rows.push_back({p.path(), p.section->name, show(p.figure->estimate.value, p.figure->unit()),
                      p.figure->title()});
  }
  d.table(std::move(t));
  return d;
}

std::string json_of(std::span<const PlacedFigure> figures) {
  JsonWriter w;
  w.begin_object().field("schema_version", 1).field("kind", "figures");
  w.key("figures").begin_array();
  for (const PlacedFigure& p : figures) {
    w.begin_object().field("layer", to_text(p.section->layer)).field("section", p.section->name);
    w.key("figure").begin_object();
    write_figure(w, *p.figure);
    w.end_object().end_object();
  }
  w.end_array().end_object();
  return w.text() + '\n';
}

}  // namespace orrery::report
