// Any bytes given as a config.json result in a shape or in diagnostics, and a shape is within its
// limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/catalog/config_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = orrery::catalog::model_from_config_json(text, "fuzz");
  if (!model) {
    if (model.error().empty()) std::abort();
    return 0;
  }
  const bool sane = model->layers > 0 && model->hidden > 0 && model->heads > 0 &&
                    model->kv_heads > 0 && model->heads % model->kv_heads == 0 &&
                    model->first_dense_layers <= model->layers && model->top_k <= model->experts &&
                    model->state_space_layers <= model->layers;
  if (!sane) std::abort();
  return 0;
}
