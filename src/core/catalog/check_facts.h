// Reference values that the checks of checks.h compare rows with. They are facts themselves, so
// they are data with sources rather than numbers in code.
#pragma once

#include <string>

#include "core/catalog/parts.h"
#include "core/catalog/provenance.h"

namespace orrery::catalog {

// Ratio of the dense peak of `dtype` to that of `of`, for a vendor or, if accelerator_id is given,
// for one part that does not follow its vendor's rule.
struct DenseRatio {
  std::string id;
  std::string vendor;
  std::string accelerator_id;
  Dtype dtype = Dtype::bf16;
  Dtype of = Dtype::bf16;
  double ratio = 1;
  std::string reason;
  Provenance provenance;
};

// The highest dense 16-bit TFLOP/s per watt that a vendor sold in those years. A row whose rates
// are all sparse exceeds it.
struct DenseCeiling {
  std::string id;
  std::string vendor;
  int from_year = 0;
  int to_year = 0;
  double tflops_per_watt = 0;
  std::string reason;
  Provenance provenance;
};

struct LinkRate {
  std::string id;
  std::string link;  // prefix of Accelerator::scaleup_link
  BytesPerSecond per_direction;
  std::string reason;
  Provenance provenance;
};

}  // namespace orrery::catalog
