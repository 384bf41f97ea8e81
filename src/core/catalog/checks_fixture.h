// Made-up catalog rows for the tests of the checks, one changed at a time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/catalog/checks.h"

namespace orrery::catalog {

inline std::vector<std::string> faults_by(void (*check)(const Catalog&, Diagnostics&),
                                          const Catalog& c) {
  Diagnostics faults;
  check(c, faults);
  std::vector<std::string> lines;
  for (const Diagnostic& d : faults) lines.push_back(d.code);
  return lines;
}

// Runs a check on one row of each table; `with` changes the row under test.
template <class Row, class With>
inline std::vector<std::string> checked(void (*check)(const Catalog&, Diagnostics&),
                                        std::vector<Row> Catalog::* table, Row row, With with) {
  Catalog c;
  c.accelerators = {{.id = "x", .tdp = watts(700)}};
  c.cooling_methods = {{.id = "air"}};
  c.pue_by_climate = {{.climate = "cool", .cooling_id = "air"}};
  row.provenance.reference = "t/r";
  with(row);
  (c.*table) = {row};
  return faults_by(check, c);
}

// Eight 700 W parts in an air-cooled 8U node: 6 supplies of 3.3 kW (19.8), two of which may fail.
template <class With>
inline std::vector<std::string> node_with(With with) {
  return checked(check_nodes, &Catalog::nodes,
                 Node{.id = "r",
                      .accelerators = 8,
                      .accelerator_id = "x",
                      .accelerators_per_host = 4,
                      .rack_units = 8,
                      .max_power = kilowatts(10),
                      .typical_train_power = kilowatts(8),
                      .idle_power = kilowatts(2),
                      .psu = "6x3.3",
                      .psu_capacity = kilowatts(19.8),
                      .psu_redundancy = "4+2",
                      .cooling = "air"},
                 with);
}

}  // namespace orrery::catalog
