#include "layers/cost/sensitivity.h"

#include <algorithm>
#include <cmath>

namespace orrery::cost {

Tornado tornado(std::span<const SensitivityInput> inputs, const ValueOf& answer) {
  std::vector<double> values;
  for (const SensitivityInput& in : inputs) values.push_back(in.value);
  Tornado result;
  result.value = answer(values);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SensitivityBar bar;
    bar.name = inputs[i].name;
    bar.input_low = inputs[i].low;
    bar.input_high = inputs[i].high;
    bar.reference = inputs[i].reference;
    values[i] = inputs[i].low;
    bar.at_low = answer(values);
    values[i] = inputs[i].high;
    bar.at_high = answer(values);
    values[i] = inputs[i].value;
    bar.span = std::abs(bar.at_high - bar.at_low);
    result.bars.push_back(std::move(bar));
  }
  std::stable_sort(
      result.bars.begin(), result.bars.end(),
      [](const SensitivityBar& a, const SensitivityBar& b) { return a.span > b.span; });
  return result;
}

}  // namespace orrery::cost
