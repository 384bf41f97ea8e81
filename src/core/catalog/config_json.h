// A Hugging Face config.json as a ModelShape: dense, grouped-query, latent attention (MLA),
// mixtures of experts with shared experts, sliding windows, hybrids with state-space layers.
//
// What the file does not say is either the default that the transformers library documents for the
// family (kv_heads = heads, head_dim = hidden / heads, tied embeddings false) or a Diagnostic; it
// is never a guess. Models whose layers differ in ways that ModelShape cannot hold (blocks searched
// one by one, a second head size in some layers, compressed attention) are refused by name.
// Hybrids are read with state_space_layers > 0, so that whoever cannot model them can say so.
//
// Wrong by a little where dense and expert layers alternate (Llama 4 Maverick): their counts are
// kept and their order is not; and where a window is a chunk (Llama 4), which is taken as a window.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/catalog/model_shape.h"

namespace orrery::catalog {

// The longest published config.json is some 100 kB; the deepest nests 6 levels.
inline constexpr std::size_t kConfigBytesMax = std::size_t{4} << 20;
inline constexpr int kConfigDepthMax = 64;

// All faults at once; their place names `id` and, for faults of syntax, line and column.
Result<ModelShape> model_from_config_json(std::string_view text, const std::string& id);

}  // namespace orrery::catalog
