#include "study/calc/claim_trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"

namespace orrery::calc {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

std::string slug(std::string_view label) {
  std::string out;
  for (const char c : lowered(label)) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (word) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  if (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

figures::Number figure_of(std::string label, figures::Unit unit, Estimate e, std::string formula) {
  return {.id = slug(label),
          .label = std::move(label),
          .unit = unit,
          .estimate = std::move(e),
          .formula = std::move(formula),
          .inputs = {}};
}

template <class T>
const T& or_empty(const T* row) {
  static const T kEmpty{};
  return row != nullptr ? *row : kEmpty;
}

}  // namespace

Criterion about(double claimed, figures::Unit unit, double tolerance) {
  return {.low = claimed * (1 - tolerance),
          .high = claimed * (1 + tolerance),
          .unit = unit,
          .text = fmt::format("within {} of {}", show(tolerance, figures::Unit::ratio),
                              show(claimed, unit))};
}

Criterion between(double low, double high, figures::Unit unit) {
  return {.low = low,
          .high = high,
          .unit = unit,
          .text = fmt::format("{} to {}", show(low, unit), show(high, unit))};
}

Criterion at_least(double low, figures::Unit unit) {
  return {.low = low, .high = kNone, .unit = unit, .text = "at least " + show(low, unit)};
}

Criterion at_most(double high, figures::Unit unit) {
  return {.low = -kNone, .high = high, .unit = unit, .text = "at most " + show(high, unit)};
}

double ClaimInput::number() const {
  return parse_number(value).value_or(std::numeric_limits<double>::quiet_NaN());
}

Estimate ClaimInput::estimate() const { return exact(number(), basis, "claims_inputs/" + id); }

const ClaimInput& ClaimContext::input(std::string_view id) const {
  const auto it = std::ranges::find(inputs, id, &ClaimInput::id);
  return or_empty(it != inputs.end() ? &*it : nullptr);
}
const catalog::Accelerator& ClaimContext::accelerator(std::string_view id) const {
  return or_empty(catalog().accelerator(id));
}
const catalog::Node& ClaimContext::node(std::string_view id) const {
  return or_empty(catalog().node(id));
}
const catalog::ModelShape& ClaimContext::model(std::string_view id) const {
  return or_empty(catalog().model(id));
}
const catalog::CoolingMethod& ClaimContext::cooling(std::string_view id) const {
  return or_empty(catalog().cooling(id));
}

Estimate computed(double value, double width, std::string reference) {
  return within(value, width, width, Basis::derived, std::move(reference));
}

void try_case(ClaimFinding& f, std::string label, Estimate e, std::string formula) {
  const bool meets = f.criterion.meets(e.value);
  f.cases.push_back(
      {figure_of(std::move(label), f.criterion.unit, std::move(e), std::move(formula)), meets});
}

void show_beside(ClaimFinding& f, std::string label, figures::Unit unit, Estimate e,
                 std::string formula) {
  f.beside.push_back(figure_of(std::move(label), unit, std::move(e), std::move(formula)));
}

void try_fact(ClaimFinding& f, const std::string& label, std::string_view fact,
              std::string_view claimed, std::string reference) {
  f.is_status = true;
  const bool agrees = !fact.empty() && fact.starts_with(claimed);
  f.criterion = at_least(1, figures::Unit::count);
  f.criterion.text = "the catalog's dated fact agrees";
  try_case(f, fmt::format("{} {}", label, fact),
           exact(agrees ? 1 : 0, Basis::derived, std::move(reference)),
           fmt::format("the claim says {}", claimed));
}

std::string labels_of(const ClaimFinding& f, bool meets, std::string_view joined_by) {
  std::vector<std::string> all;
  for (const ClaimCase& c : f.cases) {
    if (c.meets == meets) all.push_back(c.figure.label);
  }
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) out += i + 1 == all.size() ? fmt::format(" {} ", joined_by) : ", ";
    out += all[i];
  }
  return out;
}

}  // namespace orrery::calc
