// For tests of the machine: small designs in text, and the machines built from them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "model/design/design.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "model/machine/machine.h"
#include "model/machine/tier_purchase.h"

namespace orrery::machine {

// Reads a design; fails the test if it is refused.
inline design::Design design_of(const std::string& text) {
  auto read = design_text::read_design(text, known().catalog());
  EXPECT_TRUE(read) << text << (read ? "" : to_text(read.error()));
  return read.value_or(design::Design{});
}

inline design::Design template_design(std::string_view name) {
  return design_of(std::string(design_text::find_template(name)->text));
}

// One site with one fleet of four nodes.
inline design::Design small_design(const std::string& more,
                                   const std::string& fleet = "node: dgx-h100") {
  return design_of("orrery: 1\nname: a\nsite: { region: usa }\nfleet:\n  - { name: f, count: 4, " +
                   fleet + " }\n" + more);
}

// Two sites with the given fleets.
inline Machine machine_of_two_sites(const std::string& fleets, const std::string& more = "") {
  return lay_out(design_of("orrery: 1\nname: t\nsites:\n  - { name: one, region: usa, cooling: "
                           "air-contained, supply_temperature: 21 C, cooling_unit: 300 kW }\n  - { "
                           "name: two, region: deu }\nfleet:\n" +
                           fleets + more),
                 known());
}

// Four nodes at the first of two sites, which a line of 2 GB/s and 30 ms joins, and storage.
inline design::Design storage_design(const std::string& storage, const std::string& more = "") {
  return design_of(
      "orrery: 1\nname: t\nsites:\n  - { name: one, region: usa, cooling: air-contained }\n  - { "
      "name: two, region: usa }\nfleet:\n  - { name: a, node: dgx-h100, count: 4, site: one }\n"
      "fabric:\n  compute: { topology: rail-fat-tree, switch: qm9700 }\n  wan:\n    - { between: "
      "[one, two], rate: 16 Gb/s, latency: 30 ms }\nstorage:\n" +
      storage + more);
}

inline Machine with_storage(const std::string& storage, const std::string& more = "") {
  return lay_out(storage_design(storage, more), known());
}

// Four nodes and one tier.
inline design::Design one_tier(const std::string& fields) {
  return design_of(
      "orrery: 1\nname: a\nsite: { name: one, region: usa }\nfleet: [{ name: f, node: dgx-h100, "
      "count: 4 }]\nstorage: [{ name: t, " +
      fields + " }]\n");
}

// A machine with one tier, and what is bought for it.
struct Tiered {
  explicit Tiered(const std::string& fields) : machine(lay_out(one_tier(fields), known())) {}
  const Tier& tier() const { return machine.tiers.front(); }
  const Tier* operator->() const { return &tier(); }
  TierPurchase bought() const { return purchase_of(tier(), known().catalog()).value(); }
  TierServers servers() const { return servers_of(tier(), known().catalog()); }

  Machine machine;
};

inline void expect_close(double value, double wanted) {
  EXPECT_NEAR(value, wanted, 1e-9 * std::abs(wanted) + 1e-300);
}

}  // namespace orrery::machine
