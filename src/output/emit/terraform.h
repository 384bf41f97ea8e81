// Terraform for the rented fleets of a design: instances on AWS, Google Cloud, Azure or CoreWeave.
//
//   versions.tf     the provider and the versions it was written for
//   variables.tf    what a design does not know: network, image, key; with their types
//   fleet-NAME.tf   the instances of one rented fleet, by contract (on demand, reserved, spot)
//   outputs.tf      names and private addresses, for an inventory
//
// The text is formatted as by `terraform fmt`: two blanks per level, `=` aligned within a run of
// single-line arguments. Instance types come from data/emit/terraform/instances.csv by provider and
// accelerator. Unknown providers and machines are refused, with a list of the known ones.
#pragma once

#include "core/base/diagnostic.h"
#include "output/emit/file.h"
#include "plan/review/stages.h"

namespace orrery::emit {

Result<EmittedFiles> emit_terraform(const review::Review& review, const EmitSource& source);

}  // namespace orrery::emit
