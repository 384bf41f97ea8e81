// A rented fleet as Terraform sees it, and the blocks of its instances by provider.
#pragma once

#include <string>

#include "model/design/fleet.h"
#include "plan/review/stages.h"

namespace orrery::emit {

struct InstanceType {
  std::string name;
  int network_cards = 1;
};

struct RentedPart {
  const machine::Fleet* view = nullptr;
  std::string name;      // of the fleet, an HCL identifier
  std::string provider;  // aws, gcp or azure
  InstanceType instance;
  int hosts = 0;  // spares included
  catalog::Contract contract = catalog::Contract::on_demand;
  bool capacity_block = false;  // bought at aws for a fixed time
};

std::string fleet_tf(const RentedPart& part);
std::string output_of(const RentedPart& part);  // the expression of its output

}  // namespace orrery::emit
