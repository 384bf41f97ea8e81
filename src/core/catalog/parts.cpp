#include "core/catalog/parts.h"

namespace orrery::catalog {
namespace {

// In the order of the enumeration.
constexpr std::array<double, kDtypeCount> kBytes = {8, 4, 4, 2, 2, 1, 1, 0.5};

}  // namespace

double bytes_per_element(Dtype d) { return kBytes[static_cast<std::size_t>(d)]; }

}  // namespace orrery::catalog
