// Option values read by the rules of the design file: a quantity has a unit, a part has an id.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/text.h"
#include "base/units.h"
#include "catalog/catalog.h"

namespace orrery {

// Collects what is wrong, so that all of it is told at once.
class ValueReader {
 public:
  explicit ValueReader(const Catalog& catalog) : catalog_(catalog) {}

  template <class Q>
  Q quantity(const std::string& option, const std::string& text) {
    const auto q = parse_quantity<Q>(text);
    if (q && *q > Q(0)) return *q;
    complain(
        option, text,
        "a quantity above zero with its unit, such as 40 " + example_units(DimensionOf<Q>::value));
    return Q(1);
  }
  double count(const std::string& option, const std::string& text);

  const ModelShape* model(const std::string& option, const std::string& id);
  const Accelerator* accelerator(const std::string& option, const std::string& id);
  const Node* node(const std::string& option, const std::string& id);
  const CoolingMethod* cooling(const std::string& option, const std::string& id);

  const Diagnostics& faults() const { return faults_; }

 private:
  void complain(const std::string& option, const std::string& text, const std::string& wanted);
  void unknown(const std::string& option, const std::string& id, const std::string& table,
               const std::vector<std::string>& known);

  const Catalog& catalog_;
  Diagnostics faults_;
};

}  // namespace orrery
