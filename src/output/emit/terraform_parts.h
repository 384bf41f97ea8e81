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
  std::string name;      // name of the fleet, an HCL identifier
  std::string provider;  // aws, gcp, azure or coreweave
  InstanceType instance;
  int hosts = 0;  // includes spares
  catalog::Contract contract = catalog::Contract::on_demand;
  bool capacity_block = false;  // bought from aws for a fixed time
};

std::string fleet_tf(const RentedPart& part);
std::string output_of(const RentedPart& part);  // Returns the expression of the part's output.

}  // namespace orrery::emit
