#include "core/catalog/bill.h"

namespace orrery::catalog {

double Bill::count(const std::string& section, const std::string& item) const {
  double sum = 0;
  for (const BillLine& line : lines) {
    if (line.section == section && line.item == item) sum += line.count;
  }
  return sum;
}

Watts Bill::power() const {
  Watts sum;
  for (const BillLine& line : lines) sum += line.count * line.unit_power;
  return sum;
}

PriceRange Bill::price() const {
  PriceRange sum;
  for (const BillLine& line : lines) {
    if (!line.unit_price) continue;
    sum.low += line.count * line.unit_price->low;
    sum.high += line.count * line.unit_price->high;
  }
  return sum;
}

std::vector<std::string> Bill::unpriced() const {
  std::vector<std::string> names;
  for (const BillLine& line : lines) {
    if (!line.unit_price && line.count > 0) names.push_back(line.section + ": " + line.item);
  }
  return names;
}

}  // namespace orrery::catalog
