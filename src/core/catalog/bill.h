// The types that a bill of parts, a power phase and a price are made of. Layers write them;
// facility, cost and report read them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalog/provenance.h"

namespace orrery::catalog {

struct BillLine {
  std::string section;  // "compute fabric", "storage", "fleet"
  std::string item;     // "leaf switch", "400G cable node-leaf"
  std::string part_id;  // catalog id; empty where no single part is meant
  double count = 0;
  std::optional<PriceRange> unit_price;
  Watts unit_power;       // typical draw, optics included where the item carries them
  std::string reference;  // catalog row or rule behind the count
};

struct Bill {
  std::vector<BillLine> lines;

  double count(const std::string& section, const std::string& item) const;
  Watts power() const;
  PriceRange price() const;  // lines without a price count as zero and are named by unpriced()
  std::vector<std::string> unpriced() const;
};

// A part of a job's time and what one node draws in it.
struct PowerPhase {
  std::string name;  // "matrix work", "exposed communication", "checkpoint", "idle"
  double share = 0;  // of the time; the shares of a job sum to 1
  Watts node_power;
};

}  // namespace orrery::catalog
