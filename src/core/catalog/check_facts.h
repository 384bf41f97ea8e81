// What the loader checks of checks.h compare rows with: facts themselves, so they are data with
// sources and not numbers in code.
#pragma once

#include <string>

#include "core/catalog/parts.h"
#include "core/catalog/provenance.h"

namespace orrery::catalog {

// Dense peak of `dtype` over that of `of`, for a vendor or, where accelerator_id is given, for one
// part that does not follow its vendor's rule.
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

// The most dense 16-bit TFLOP/s a watt that a vendor sold in those years; a row wholly printed
// sparse lies above it.
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
  std::string link;  // as Accelerator::scaleup_link begins
  BytesPerSecond per_direction;
  std::string reason;
  Provenance provenance;
};

}  // namespace orrery::catalog
