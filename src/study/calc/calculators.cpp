#include "study/calc/calculators.h"

#include <algorithm>
#include <cmath>

#include "study/calc/calc_values.h"

namespace orrery::calc {
namespace {

Diagnostics unknown_names(const Calculator& c, const CalcTexts& given) {
  std::vector<std::string> known;
  for (const CalcParameter& p : c.parameters) known.emplace_back(p.name);
  Diagnostics faults;
  for (const auto& [name, text] : given) {
    if (find_parameter(c, name)) continue;
    const auto close = nearest(name, known);
    faults.push_back({.code = "calc.parameter",
                      .what = std::string(c.name) + " has no parameter '" + name + "'",
                      .fix = close ? "did you mean '" + *close + "'?" : ""});
  }
  return faults;
}

CalcTexts with_presets(const Calculator& c, const CalcTexts& given) {
  CalcTexts texts;
  for (const CalcParameter& p : c.parameters) {
    const auto own = given.find(p.name);
    const std::string text(own == given.end() || own->second.empty() ? p.preset : own->second);
    if (!text.empty()) texts.emplace(p.name, text);
  }
  return texts;
}

}  // namespace

std::string_view to_text(ParameterKind kind) {
  static constexpr std::string_view kWords[] = {"number", "integer", "count", "quantity",
                                                "choice", "id",      "flag"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::span<const Calculator> calculators() {
  static const std::vector<Calculator> kAll = every_calculator();
  return kAll;
}

const Calculator* find_calculator(std::string_view name) {
  const auto all = calculators();
  const auto found = std::ranges::find(all, name, &Calculator::name);
  return found == all.end() ? nullptr : &*found;
}

const CalcParameter* find_parameter(const Calculator& c, std::string_view name) {
  const auto found = std::ranges::find(c.parameters, name, &CalcParameter::name);
  return found == c.parameters.end() ? nullptr : &*found;
}

Result<Calculation> calculate(const Calculator& c, const CalcTexts& given,
                              const machine::Models& models) {
  if (Diagnostics faults = unknown_names(c, given); !faults.empty()) {
    return std::unexpected(std::move(faults));
  }
  const CalcTexts texts = with_presets(c, given);
  CalcValues values(texts, models.catalog());
  for (const CalcParameter& p : c.parameters) {
    if (p.kind == ParameterKind::choice) values.check_choice(p);
  }
  Result<Calculation> answer = c.ask(values, models);
  if (!values.faults().empty()) return std::unexpected(values.faults());
  if (!answer) return answer;
  for (const figures::Number& f : answer->figures) {
    if (std::isfinite(f.estimate.value)) continue;
    return fail({.code = "calc.range",
                 .what = f.label + " is beyond any number that is computed here",
                 .fix = "give values that a real machine could have"});
  }
  answer->command = command_of(c, given);
  return answer;
}

std::string command_of(const Calculator& c, const CalcTexts& given) {
  std::string line = "orrery calc " + std::string(c.name);
  for (const CalcParameter& p : c.parameters) {
    const auto own = given.find(p.name);
    if (own == given.end() || own->second.empty() || own->second == p.preset) continue;
    line += " --" + std::string(p.name);
    if (p.kind == ParameterKind::flag) continue;
    const bool plain = own->second.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-") ==
                       std::string::npos;
    line += plain ? " " + own->second : " \"" + own->second + "\"";
  }
  return line;
}

}  // namespace orrery::calc
