// `orrery explain claims|rules|glossary|profiles|figures|assumptions [NAME]` and `orrery explain
// FILE [FIGURE]`: why a number is what it is, and what a rule, a claim or a word means.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "app/cli/explain_word.h"
#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "output/report/claims_report.h"
#include "output/report/explain_report.h"
#include "output/report/reference_report.h"
#include "plan/verdict/verdict.h"
#include "study/calc/claims.h"

namespace orrery::cli {
namespace {

struct ExplainOptions {
  std::string topic;
  std::string name;
  Format format = Format::text;
};

void print_topic(Terminal& terminal, const report::Document& document, Format format) {
  terminal.out << (format == Format::markdown ? to_markdown(document)
                                              : to_text(document, terminal.style));
}

ExitCode unknown(Terminal& terminal, const char* kind, const std::string& name,
                 const std::vector<std::string>& known, const std::string& list_with) {
  const auto near = nearest(name, known);
  return refuse(terminal, {{.code = "explain.unknown",
                            .what = fmt::format("there is no {} '{}'", kind, name),
                            .why = near ? fmt::format("did you mean '{}'?", *near) : std::string(),
                            .fix = fmt::format("'{}' lists them", list_with)}});
}

ExitCode explain_claims(const ExplainOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  auto checks = calc::check_claims(*models);
  if (!checks) return refuse(terminal, checks.error());
  if (!o.name.empty()) {
    std::vector<std::string> ids;
    for (const calc::ClaimCheck& c : *checks) ids.push_back(c.claim.id);
    std::erase_if(*checks, [&](const calc::ClaimCheck& c) { return c.claim.id != o.name; });
    if (checks->empty()) return unknown(terminal, "claim", o.name, ids, "orrery explain claims");
  }
  if (o.format == Format::json) {
    terminal.out << report::json_of(*checks);
  } else if (!o.name.empty()) {
    print_topic(terminal, report::document_of(checks->front()), o.format);
  } else {
    const bool details = o.format == Format::markdown;
    print_topic(terminal, document_of(*checks, report::ClaimsView{.details = details}), o.format);
  }
  return ExitCode::good;
}

ExitCode explain_rules(const ExplainOptions& o, Terminal& terminal) {
  std::vector<rules::Rule> rules = rules::all_rules();
  if (!o.name.empty()) {
    std::vector<std::string> ids;
    for (const rules::Rule& r : rules) ids.emplace_back(r.id);
    std::erase_if(rules, [&](const rules::Rule& r) { return r.id != o.name; });
    if (rules.empty()) return unknown(terminal, "rule", o.name, ids, "orrery explain rules");
  }
  if (o.format == Format::json) {
    terminal.out << report::json_of(rules);
  } else {
    print_topic(terminal, report::document_of(rules), o.format);
  }
  return ExitCode::good;
}

ExitCode explain_glossary(const ExplainOptions& o, Terminal& terminal) {
  const auto knowledge = shipped_knowledge();
  if (!knowledge) return refuse(terminal, knowledge.error());
  auto entries = report::read_glossary(*knowledge);
  if (!entries) return refuse(terminal, entries.error());
  if (!o.name.empty()) {
    std::vector<std::string> words;
    for (const report::GlossaryEntry& e : *entries) words.push_back(lowered(e.word));
    std::erase_if(*entries, [&](const report::GlossaryEntry& e) { return !e.is_named(o.name); });
    if (entries->empty())
      return unknown(terminal, "word", o.name, words, "orrery explain glossary");
  }
  if (o.format == Format::json) {
    terminal.out << json_of(*entries);
  } else {
    print_topic(terminal, document_of(*entries), o.format);
  }
  return ExitCode::good;
}

ExitCode explain_profiles(const ExplainOptions& o, Terminal& terminal) {
  const auto knowledge = shipped_knowledge();
  if (!knowledge) return refuse(terminal, knowledge.error());
  const catalog::Catalog& catalog = knowledge->catalog;
  std::vector<catalog::StorageProfile> profiles = catalog.storage_profiles;
  if (!o.name.empty()) {
    std::vector<std::string> ids;
    for (const catalog::StorageProfile& p : profiles) ids.push_back(p.id);
    std::erase_if(profiles, [&](const catalog::StorageProfile& p) { return p.id != o.name; });
    if (profiles.empty()) {
      return unknown(terminal, "profile", o.name, ids, "orrery explain profiles");
    }
  }
  if (o.format == Format::json) {
    terminal.out << report::json_of(profiles, catalog);
  } else {
    print_topic(terminal,
                o.name.empty() ? report::document_of(profiles)
                               : report::document_of(profiles.front(), catalog),
                o.format);
  }
  return ExitCode::good;
}

// Prints the table of figures, or one row of it.
ExitCode explain_figures(const ExplainOptions& o, Terminal& terminal) {
  std::vector<figures::FigureKind> kinds(std::begin(figures::kFigureKinds),
                                         std::end(figures::kFigureKinds));
  if (!o.name.empty()) {
    std::vector<std::string> words;
    for (const figures::FigureKind& k : kinds) words.emplace_back(k.word);
    std::erase_if(kinds, [&](const figures::FigureKind& k) { return k.word != o.name; });
    if (kinds.empty()) return unknown(terminal, "figure", o.name, words, "orrery explain figures");
  }
  if (o.format == Format::json) {
    terminal.out << report::figure_reference_json(kinds);
  } else {
    print_topic(terminal,
                o.name.empty() ? report::figure_reference() : report::document_of(kinds.front()),
                o.format);
  }
  return ExitCode::good;
}

// Prints the table of assumptions, or one row of it.
ExitCode explain_assumptions(const ExplainOptions& o, Terminal& terminal) {
  std::vector<figures::Assumption> all(std::begin(figures::kAssumptions),
                                       std::end(figures::kAssumptions));
  if (!o.name.empty()) {
    std::vector<std::string> names;
    for (const figures::Assumption& a : all) names.emplace_back(a.name);
    std::erase_if(all, [&](const figures::Assumption& a) { return a.name != o.name; });
    if (all.empty()) {
      return unknown(terminal, "assumption", o.name, names, "orrery explain assumptions");
    }
  }
  if (o.format == Format::json) {
    terminal.out << report::json_of(all);
  } else {
    print_topic(terminal,
                o.name.empty() ? report::assumption_reference() : report::document_of(all),
                o.format);
  }
  return ExitCode::good;
}

// Explains a figure of a design. Exits with success even if the design fails its review (`plan`
// reports that).
ExitCode explain_figure(const ExplainOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  const auto design = load_design(o.topic, models->catalog(), terminal);
  if (!design) return refuse(terminal, design.error());
  const verdict::Verdict v = verdict::verdict_of(*design, *models, {.spends = false});
  const std::vector<report::PlacedFigure> found = report::figures_named(v, o.name);
  if (found.empty()) {
    return unknown(terminal, "figure", o.name, report::figure_names(v),
                   "orrery explain " + o.topic);
  }
  if (o.format == Format::json) {
    terminal.out << json_of(found);
  } else {
    const bool one_name = std::ranges::all_of(found, [&](const report::PlacedFigure& p) {
      return p.figure->id() == found.front().figure->id();
    });
    print_topic(terminal, document_of(found, !o.name.empty() && one_name), o.format);
  }
  return ExitCode::good;
}

// Explains any name that the program knows.
ExitCode explain_any(const ExplainOptions& o, Terminal& terminal) {
  const auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  auto answer = explain_word(o.topic, *models);
  if (!answer) return refuse(terminal, answer.error());
  if (answer->document.blocks.empty()) {
    std::vector<std::string> names = {"claims",   "rules",   "glossary",
                                      "profiles", "figures", "assumptions"};
    names.insert(names.end(), answer->names.begin(), answer->names.end());
    return unknown(terminal, "figure, rule, field, verb, word or file", o.topic, names,
                   "orrery explain --help");
  }
  if (o.format == Format::json) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("kind", "word").field("word", o.topic);
    json.field("text", to_text(answer->document)).end_object();
    terminal.out << json.text() << '\n';
  } else {
    print_topic(terminal, answer->document, o.format);
  }
  return ExitCode::good;
}

bool looks_like_file(const std::string& topic) {
  return topic == "-" || topic.find('/') != std::string::npos || topic.ends_with(".yaml") ||
         topic.ends_with(".yml") || topic.ends_with(".json");
}

ExitCode explain(const ExplainOptions& o, Terminal& terminal) {
  if (o.topic == "claims") return explain_claims(o, terminal);
  if (o.topic == "rules") return explain_rules(o, terminal);
  if (o.topic == "glossary") return explain_glossary(o, terminal);
  if (o.topic == "profiles") return explain_profiles(o, terminal);
  if (o.topic == "figures") return explain_figures(o, terminal);
  if (o.topic == "assumptions") return explain_assumptions(o, terminal);
  if (looks_like_file(o.topic) || terminal.read_file(o.topic)) return explain_figure(o, terminal);
  return explain_any(o, terminal);
}

}  // namespace

Verb explain_verb() {
  return {.name = "explain",
          .summary = "Explain a figure, rule, field, verb or word, and where a number comes from",
          .examples = {"orrery explain goodput", "orrery explain storage.local-only",
                       "orrery explain my.yaml training.step_time", "orrery explain claims",
                       "orrery explain claims cooling-half", "orrery explain rules",
                       "orrery explain glossary tp", "orrery explain profiles",
                       "orrery explain figures goodput", "orrery explain assumptions"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<ExplainOptions>();
            arguments.positional("TOPIC", options->topic,
                                 "any name; or claims, rules, glossary, profiles, figures or "
                                 "assumptions; or a design file");
            arguments.optional_positional("NAME", options->name,
                                          "one entry of the topic; for a design, a figure "
                                          "(step_time, training.step_time) or a layer");
            arguments.format(options->format, {Format::text, Format::json, Format::markdown});
            return [options](Terminal& terminal) { return explain(*options, terminal); };
          }};
}

}  // namespace orrery::cli
