// Any bytes given as a design result in a Design or in diagnostics. A Design that is written and
// read again is the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/design_text/read_design.h"
#include "model/design_text/write_design.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const orrery::catalog::Catalog kCatalog = orrery::catalog::load_embedded_catalog().value();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = orrery::design_text::read_design(text, kCatalog);
  if (!read) {
    if (read.error().empty()) std::abort();
    return 0;
  }
  const auto again =
      orrery::design_text::read_design(orrery::design_text::write_design(*read), kCatalog);
  if (!again || !(*again == *read)) std::abort();
  return 0;
}
