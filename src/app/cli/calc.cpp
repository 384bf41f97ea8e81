// `orrery calc QUESTION`: answers one question from options and shows the arithmetic and its
// assumptions. The questions and their options are those of calc/calculators.h.
#include <map>
#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "core/catalog/config_json.h"
#include "output/report/calculation_report.h"
#include "study/calc/calculators.h"

namespace orrery::cli {
namespace {

// Fields that CLI11 fills, by parameter name. A map, because CLI11 keeps pointers and the nodes of
// a map do not move.
struct CalcFields {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::optional<std::string>> open;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, double> numbers;
  std::map<std::string, bool> flags;
  Format format = Format::text;
};

void bind(const calc::CalcParameter& p, CalcFields& fields, Arguments& a) {
  const std::string name(p.name), option = "--" + name, label(p.label), shown(p.shown);
  const std::string preset(p.preset);
  switch (p.kind) {
    case calc::ParameterKind::integer:
      a.option(option, fields.integers[name] = parse_integer(preset).value(), label);
      return;
    case calc::ParameterKind::number:
      a.option(option, fields.numbers[name] = parse_number(preset).value(), label);
      return;
    case calc::ParameterKind::flag:
      a.flag(option, fields.flags[name], label);
      return;
    case calc::ParameterKind::choice:
      a.choice(option, fields.texts[name] = preset, {p.choices.begin(), p.choices.end()}, label);
      return;
    case calc::ParameterKind::count:
    case calc::ParameterKind::quantity:
    case calc::ParameterKind::id:
      break;
  }
  if (p.optional()) {
    a.option(option, fields.open[name], label, shown);
  } else {
    a.option(option, fields.texts[name] = preset, label, shown);
  }
}

calc::CalcTexts texts_of(const CalcFields& fields) {
  calc::CalcTexts all;
  for (const auto& [name, v] : fields.texts) all[name] = v;
  for (const auto& [name, v] : fields.integers) all[name] = std::to_string(v);
  for (const auto& [name, v] : fields.numbers) all[name] = shortest(v);
  for (const auto& [name, v] : fields.flags) all[name] = v ? "true" : "false";
  for (const auto& [name, v] : fields.open) {
    if (v) all[name] = *v;
  }
  return all;
}

// Adds the model of a config.json to the catalog if --model names such a file.
Result<void> take_model_file(const CalcFields& fields, machine::Models& models,
                             const Terminal& terminal) {
  const auto named = fields.texts.find("model");
  if (named == fields.texts.end() || !named->second.ends_with(".json")) return {};
  const auto text = terminal.read_file(named->second);
  if (!text) return std::unexpected(text.error());
  auto shape = catalog::model_from_config_json(*text, named->second);
  if (!shape) return std::unexpected(shape.error());
  auto knowledge = std::make_shared<catalog::Knowledge>(*models.knowledge);
  knowledge->catalog.models.push_back(std::move(*shape));
  models.knowledge = std::move(knowledge);
  return {};
}

ExitCode answer(const calc::Calculator& calculator, const CalcFields& fields, Terminal& terminal) {
  auto models = shipped_models();
  if (!models) return refuse(terminal, models.error());
  if (auto taken = take_model_file(fields, *models, terminal); !taken) {
    return refuse(terminal, taken.error());
  }
  const Result<calc::Calculation> c = calculate(calculator, texts_of(fields), *models);
  if (!c) return refuse(terminal, c.error());
  switch (fields.format) {
    case Format::json:
      terminal.out << report::json_of(*c);
      break;
    case Format::markdown:
      terminal.out << to_markdown(report::document_of(*c));
      break;
    case Format::html:
      terminal.out << to_html(report::document_of(*c));
      break;
    default:
      terminal.out << to_text(report::document_of(*c), terminal.style);
  }
  return ExitCode::good;
}

Verb question(const calc::Calculator& calculator) {
  return {.name = std::string(calculator.name),
          .summary = std::string(calculator.summary),
          .examples = {std::string(calculator.example)},
          .prepare = [&calculator](Arguments& arguments) -> Run {
            auto fields = std::make_shared<CalcFields>();
            for (const calc::CalcParameter& p : calculator.parameters) bind(p, *fields, arguments);
            arguments.format(fields->format,
                             {Format::text, Format::json, Format::markdown, Format::html});
            return [fields, &calculator](Terminal& terminal) {
              return answer(calculator, *fields, terminal);
            };
          }};
}

}  // namespace

Verb calc_verb() {
  Verb verb{.name = "calc",
            .summary = "Answer one question and show the arithmetic",
            .examples = {"orrery calc checkpoint --model llama-3-70b --write \"40 GB/s\"",
                         "orrery calc goodput --mtbf \"3 h\" --restart \"10 min\""}};
  for (const calc::Calculator& c : calc::calculators()) verb.verbs.push_back(question(c));
  return verb;
}

}  // namespace orrery::cli
