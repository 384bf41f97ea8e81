// Reads the parameters of a question by the rules of the design file: a quantity has a unit, a part
// has an id.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/catalog/catalog.h"
#include "study/calc/calculators.h"

namespace orrery::calc {

// Collects all faults, so that they are reported together. A value that cannot be read is replaced
// by a harmless one; callers check faults() before they use the answer.
class CalcValues {
 public:
  CalcValues(const CalcTexts& texts, const catalog::Catalog& catalog)
      : texts_(texts), catalog_(catalog) {}

  bool given(std::string_view name) const { return texts_.contains(name); }
  const std::string& word(std::string_view name) const;
  bool flag(std::string_view name);

  template <class Q>
  Q quantity(std::string_view name) {
    const auto q = parse_quantity<Q>(word(name));
    if (q && *q > Q(0)) return *q;
    complain(name, "a quantity above zero with its unit, such as 40 " +
                       example_units(DimensionOf<Q>::value));
    return Q(1);
  }
  template <class Q>
  std::optional<Q> quantity_if_given(std::string_view name) {
    return given(name) ? std::optional<Q>(quantity<Q>(name)) : std::nullopt;
  }
  double count(std::string_view name);
  int whole(std::string_view name);
  double share(std::string_view name);  // between 0 and 1

  const catalog::ModelShape* model(std::string_view name);
  const catalog::Accelerator* accelerator(std::string_view name);
  const catalog::Node* node(std::string_view name);
  const catalog::CoolingMethod* cooling(std::string_view name);
  // Returns a memory pool among the emerging parts of the catalog; null if none is named.
  const catalog::EmergingPart* memory_pool(std::string_view name);

  // Returns a slice of the accelerator; null if none is named.
  const catalog::MigProfile* slice(std::string_view name, const catalog::Accelerator* accelerator);

  const catalog::Catalog& catalog() const { return catalog_; }
  const Diagnostics& faults() const { return faults_; }
  // Checks that the value is one of the parameter's choices, which the table has not checked.
  void check_choice(const CalcParameter& parameter);
  void complain(std::string_view name, const std::string& wanted);

 private:
  template <class T>
  void unknown(std::string_view name, const std::string& table, const std::vector<T>& rows);

  const CalcTexts& texts_;
  const catalog::Catalog& catalog_;
  Diagnostics faults_;
};

}  // namespace orrery::calc
