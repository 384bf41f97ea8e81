#include "app/cli/explain_word.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/cli/verb.h"
#include "core/base/text.h"
#include "model/design/goals.h"
#include "model/design_text/read_design.h"
#include "model/design_text/shape.h"
#include "model/design_text/templates.h"
#include "output/report/explain_report.h"
#include "output/report/reference_report.h"
#include "plan/verdict/verdict.h"

namespace orrery::cli {
namespace {

// Template that is tried first, because it has training, serving and all networks.
constexpr std::string_view kSample = "superpod-h100";

class Answerer {
 public:
  Answerer(const std::string& word, const machine::Models& models)
      : word_(lowered(word)), models_(models) {}

  Result<WordAnswer> run() {
    if (const auto glossary = add_glossary(); !glossary) return std::unexpected(glossary.error());
    add_figure_kind();
    add_figures();
    add_rules();
    add_fields();
    add_profiles();
    add_goal_metrics();
    add_verbs();
    if (!answer_.document.blocks.empty()) answer_.names.clear();
    return std::move(answer_);
  }

 private:
  bool is_meant(const std::string& name) {
    answer_.names.push_back(lowered(name));
    return lowered(name) == word_;
  }

  Result<void> add_glossary() {
    const auto entries = report::read_glossary(*models_.knowledge);
    if (!entries) return std::unexpected(entries.error());
    for (const report::GlossaryEntry& e : *entries) {
      answer_.names.push_back(lowered(e.word));
      if (!e.is_named(word_)) continue;
      answer_.document.heading(2, "The word " + e.word);
      answer_.document.paragraph(definition_of(e));
    }
    return {};
  }

  // Adds what the table of figures says about the word, for reviews and runs alike.
  void add_figure_kind() {
    for (const figures::FigureKind& k : figures::kFigureKinds) {
      if (!is_meant(std::string(k.word))) continue;
      const report::Document row = report::document_of(k);
      answer_.document.blocks.insert(answer_.document.blocks.end(), row.blocks.begin(),
                                     row.blocks.end());
    }
  }

  // Adds the figure as it is in the first template that has it, one entry per kind of figure.
  void add_figures() {
    std::vector<design_text::Template> all = design_text::templates();
    std::ranges::stable_partition(all, [](const auto& t) { return t.name == kSample; });
    for (const design_text::Template& t : all) {
      const auto read =
          design_text::read_design(t.text, models_.catalog(), {.file = std::string(t.name)});
      if (!read) continue;
      const verdict::Verdict v = verdict::verdict_of(*read, models_, {.spends = false});
      for (const std::string& name : report::figure_names(v)) answer_.names.push_back(name);
      std::vector<report::PlacedFigure> found = report::figures_named(v, word_);
      std::erase_if(found, [this](const auto& p) { return to_text(p.section->layer) == word_; });
      keep_one_of_each(found);
      if (found.empty()) continue;
      answer_.document.heading(
          2, fmt::format("The figure {} in the template {}", found.front().figure->id(), t.name));
      const report::Document shown = document_of(found, true);
      answer_.document.blocks.insert(answer_.document.blocks.end(), shown.blocks.begin(),
                                     shown.blocks.end());
      answer_.document.paragraph(
          fmt::format("For your own design: orrery explain my.yaml {}", found.front().path()));
      return;
    }
  }

  static void keep_one_of_each(std::vector<report::PlacedFigure>& found) {
    std::vector<std::string> seen;
    std::erase_if(found, [&seen](const report::PlacedFigure& p) {
      if (std::ranges::find(seen, p.path()) != seen.end()) return true;
      seen.push_back(p.path());
      return false;
    });
  }

  void add_rules() {
    for (const rules::Rule& r : rules::all_rules()) {
      if (!is_meant(std::string(r.id))) continue;
      answer_.document.heading(2, fmt::format("The rule {} ({})", r.id, to_text(r.severity)));
      answer_.document.paragraph(fmt::format("{}. Source: {}", r.summary, r.source));
    }
  }

  void add_fields() {
    std::vector<std::string> items;
    for (const design_text::SectionShape& s : design_text::design_shape()) {
      for (const design_text::FieldShape& f : s.fields) {
        const bool is_named = is_meant(f.key);
        const bool is_placed = is_meant(s.name + '.' + f.key);
        if (!is_named && !is_placed) continue;
        std::string line = fmt::format("`{}` in {}: {}", f.key, s.name, f.field.doc);
        if (!f.field.unit.empty()) line += fmt::format("; unit: {}", f.field.unit);
        if (!f.words.empty()) {
          std::string words;
          for (const std::string_view w : f.words)
            words += (words.empty() ? "" : ", ") + std::string(w);
          line += "; one of " + words;
        }
        if (!f.default_text.empty()) {
          line += "; default: " + f.default_text;
        } else if (!f.field.absent.empty()) {
          line += fmt::format("; default: {}", f.field.absent);
        }
        items.push_back(std::move(line));
      }
    }
    if (items.empty()) return;
    answer_.document.heading(2, "In the design file");
    answer_.document.bullets(std::move(items));
  }

  void add_profiles() {
    for (const catalog::StorageProfile& p : models_.catalog().storage_profiles) {
      if (!is_meant(p.id)) continue;
      const report::Document shown = report::document_of(p, models_.catalog());
      answer_.document.blocks.insert(answer_.document.blocks.end(), shown.blocks.begin(),
                                     shown.blocks.end());
    }
  }

  void add_goal_metrics() {
    for (const design::GoalMetric& m : design::goal_metrics()) {
      if (!is_meant(std::string(m.name))) continue;
      answer_.document.heading(2, fmt::format("The goal {}", m.name));
      answer_.document.paragraph(
          fmt::format("{}{}{}", m.doc, m.unit.empty() ? "" : ", in ", m.unit));
    }
  }

  void add_verbs() {
    for (const VerbShape& shape : shapes_of(all_verbs())) {
      const std::string name = joined(shape.path, " ");
      if (name.empty() || !is_meant(name)) continue;
      answer_.document.heading(2, "The verb " + name);
      answer_.document.paragraph(fmt::format("{}. See: orrery help {}", shape.summary, name));
    }
  }

  std::string word_;
  const machine::Models& models_;
  WordAnswer answer_;
};

}  // namespace

Result<WordAnswer> explain_word(const std::string& word, const machine::Models& models) {
  return Answerer(word, models).run();
}

}  // namespace orrery::cli
