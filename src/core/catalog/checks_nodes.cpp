#include <cmath>
#include <string>

#include "core/base/text.h"
#include "core/catalog/checks.h"

namespace orrery::catalog {
namespace {

std::string kilowatts_of(Watts w) { return significant(w / kilowatts(1), 4) + " kW"; }

struct Supplies {
  int count = 0;
  Watts each;
};

// Reads "6x3.3" as six supplies of 3.3 kW; other texts ("busbar") state no count.
std::optional<Supplies> supplies_of(const std::string& text) {
  const auto at = text.find('x');
  if (at == std::string::npos) return std::nullopt;
  const auto count = parse_integer(std::string_view(text).substr(0, at));
  const auto each = parse_number(std::string_view(text).substr(at + 1));
  if (!count || !each || *count < 1 || *count > 1000) return std::nullopt;
  return Supplies{static_cast<int>(*count), kilowatts(*each)};
}

struct Spare {
  int needed = 0;
  int spare = 0;
};

// Reads "4+2": four must work, two may fail.
std::optional<Spare> spare_of(const std::string& text) {
  const auto at = text.find('+');
  if (at == std::string::npos) return std::nullopt;
  const auto needed = parse_integer(std::string_view(text).substr(0, at));
  const auto spare = parse_integer(std::string_view(text).substr(at + 1));
  if (!needed || !spare || *needed < 1 || *needed > 1000 || *spare < 0 || *spare > 1000) {
    return std::nullopt;
  }
  return Spare{static_cast<int>(*needed), static_cast<int>(*spare)};
}

void check_accelerator_reference(const Catalog& c, const Node& n, Diagnostics& faults) {
  if (n.accelerators == 0) {
    if (!n.accelerator_id.empty()) {
      faults.push_back(row_fault(n.provenance, "catalog.reference",
                                 "an accelerator is named, but the count is 0", ""));
    }
    return;
  }
  if (!c.accelerator(n.accelerator_id)) {
    faults.push_back(row_fault(n.provenance, "catalog.reference",
                               "no accelerator '" + n.accelerator_id + "'", ""));
  }
  if (n.accelerators_per_host < 1 || n.accelerators % n.accelerators_per_host != 0) {
    faults.push_back(row_fault(n.provenance, "catalog.node-hosts",
                               "accelerators_per_host does not divide accelerators",
                               "the hosts of one node have equal numbers of accelerators"));
  }
}

void check_power(const Catalog& c, const Node& n, Diagnostics& faults) {
  const Accelerator* a = c.accelerator(n.accelerator_id);
  if (a && a->tdp && n.max_power && *a->tdp * n.accelerators > *n.max_power) {
    faults.push_back(row_fault(n.provenance, "catalog.node-tdp",
                               "its accelerators may draw " +
                                   kilowatts_of(*a->tdp * n.accelerators) + ", the node only " +
                                   kilowatts_of(*n.max_power),
                               "TDP times count is only a part of the node's maximum"));
  }
  const bool idle_high =
      n.idle_power && n.typical_train_power && *n.idle_power >= *n.typical_train_power;
  const bool typical_high =
      n.typical_train_power && n.max_power && *n.typical_train_power >= *n.max_power;
  if (idle_high || typical_high) {
    faults.push_back(row_fault(n.provenance, "catalog.power-order",
                               "idle, typical and maximum power do not rise",
                               "a node's maximum is its nameplate power, not its typical draw"));
  }
  if (n.max_power && n.psu_capacity && *n.max_power > *n.psu_capacity) {
    faults.push_back(row_fault(n.provenance, "catalog.node-psu",
                               "draws " + kilowatts_of(*n.max_power) + " from supplies of " +
                                   kilowatts_of(*n.psu_capacity),
                               ""));
  }
}

void check_supplies(const Node& n, Diagnostics& faults) {
  const auto supplies = supplies_of(n.psu);
  if (!supplies) return;
  const auto fault = [&](std::string what, std::string why) {
    faults.push_back(row_fault(n.provenance, "catalog.node-psu", std::move(what), std::move(why)));
  };
  const Watts total = supplies->each * supplies->count;
  if (!n.psu_capacity || std::abs(total / *n.psu_capacity - 1) > kTotalTolerance) {
    fault(n.psu + " is " + kilowatts_of(total) + ", psu_total_kw differs", "");
  }
  const auto spare = spare_of(n.psu_redundancy);
  if (!spare) return;
  if (spare->needed + spare->spare != supplies->count) {
    fault(n.psu + " supplies cannot be " + n.psu_redundancy, "");
  } else if (n.max_power && supplies->each * spare->needed < *n.max_power) {
    fault(n.psu_redundancy + " of " + n.psu + " leaves less than the node draws",
          "the redundancy would fail under load");
  }
}

// Refuses "4U DGX H100" and "2.4 MW of cooling per rack", both of which have been published.
void check_density(const Node& n, Diagnostics& faults) {
  if (!n.rack_units || !n.max_power) return;
  if (*n.rack_units < 1 || *n.rack_units > 60) {
    faults.push_back(row_fault(n.provenance, "catalog.node-density",
                               std::to_string(*n.rack_units) + " rack units", "a rack has 42-52"));
    return;
  }
  const double per_unit = *n.max_power / kilowatts(1) / *n.rack_units;
  const double most = n.cooling == "air" ? kMostKilowattsPerUnitAir : kMostKilowattsPerUnitLiquid;
  if (per_unit <= most) return;
  faults.push_back(row_fault(n.provenance, "catalog.node-density",
                             significant(per_unit, 3) + " kW per rack unit with " + n.cooling +
                                 " cooling; real nodes have at most " + significant(most, 3),
                             "the height or the power is wrong"));
}

}  // namespace

void check_nodes(const Catalog& catalog, Diagnostics& faults) {
  for (const Node& n : catalog.nodes) {
    check_accelerator_reference(catalog, n, faults);
    check_power(catalog, n, faults);
    check_supplies(n, faults);
    check_density(n, faults);
  }
}

}  // namespace orrery::catalog
