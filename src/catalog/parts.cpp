#include "catalog/parts.h"

namespace orrery {
namespace {

struct DtypeName {
  const char* text;
  double bytes;
};

// In the order of the enumeration.
constexpr std::array<DtypeName, kDtypeCount> kDtypes = {{{"fp64", 8},
                                                         {"fp32", 4},
                                                         {"tf32", 4},
                                                         {"bf16", 2},
                                                         {"fp16", 2},
                                                         {"fp8", 1},
                                                         {"int8", 1},
                                                         {"fp4", 0.5}}};

}  // namespace

const char* to_text(Dtype d) { return kDtypes[static_cast<std::size_t>(d)].text; }

std::optional<Dtype> dtype_from(std::string_view text) {
  for (std::size_t i = 0; i < kDtypes.size(); ++i) {
    if (text == kDtypes[i].text) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

double bytes_per_element(Dtype d) { return kDtypes[static_cast<std::size_t>(d)].bytes; }

}  // namespace orrery
