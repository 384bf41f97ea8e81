// Which input moves the answer most: each is varied from low to high while the rest keep their
// values.
//
// A tornado: bars sorted by their span. Varying one input at a time hides interactions; but if the
// answer is a product, as cost per hour nearly is, the spans in logarithms still add in quadrature.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace orrery::cost {

struct SensitivityInput {
  std::string name;
  double low = 0;
  double value = 0;
  double high = 0;
  std::string reference;
};

struct SensitivityBar {
  std::string name;
  double at_low = 0;  // the answer with this input low and the rest at their values
  double at_high = 0;
  double input_low = 0;
  double input_high = 0;
  double span = 0;  // |at_high - at_low|
  std::string reference;
};

struct Tornado {
  double value = 0;
  std::vector<SensitivityBar> bars;  // widest first; ties in the order given
};

// Computes the answer from one value per input, in the order given.
using ValueOf = std::function<double(std::span<const double> values)>;

Tornado tornado(std::span<const SensitivityInput> inputs, const ValueOf& answer);

}  // namespace orrery::cost
