// The types that make up a bill of parts, a power phase and a price. Layers write them; facility,
// cost and report read them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalog/provenance.h"

namespace orrery::catalog {

struct BillLine {
  std::string section;  // "compute fabric", "storage", "fleet"
  std::string item;     // "leaf switch", "400G cable node-leaf"
  std::string part_id;  // catalog id; empty if the line is not one particular part
  double count = 0;
  std::optional<PriceRange> unit_price;
  Watts unit_power;       // typical draw; includes optics if the item comes with them
  std::string reference;  // catalog row or rule behind the count
};

struct Bill {
  std::vector<BillLine> lines;

  double count(const std::string& section, const std::string& item) const;
  Watts power() const;
  PriceRange price() const;  // lines without a price count as zero; unpriced() lists them
  std::vector<std::string> unpriced() const;
};

// A share of a job's time and what one node draws during it.
struct PowerPhase {
  std::string name;  // "matrix work", "exposed communication", "checkpoint", "idle"
  double share = 0;  // share of the time; a job's shares sum to 1
  Watts node_power;
};

}  // namespace orrery::catalog
