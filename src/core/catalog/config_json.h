// Reads a Hugging Face config.json as a ModelShape: dense, grouped-query, latent attention (MLA),
// mixtures of experts with shared experts, sliding windows, hybrids with state-space layers.
//
// A value that the file does not give is either the default that the transformers library documents
// for the family (kv_heads = heads, head_dim = hidden / heads, tied embeddings false) or a
// Diagnostic; it is never guessed. Models whose layers differ in ways that ModelShape cannot hold
// (block sizes found by architecture search, a second head size in some layers, compressed
// attention) are refused by name. Hybrids are read with state_space_layers > 0, so that code that
// cannot model them can refuse them.
//
// Slightly wrong in two cases: if dense and expert layers alternate (Llama 4 Maverick), their
// counts are kept but not their order; and attention chunks (Llama 4) are treated as a sliding
// window.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/catalog/model_shape.h"

namespace orrery::catalog {

// The longest published config.json is about 100 kB; the deepest nests 6 levels.
inline constexpr std::size_t kConfigBytesMax = std::size_t{4} << 20;
inline constexpr int kConfigDepthMax = 64;

// Returns the shape or all faults at once. A fault's place names `id` and, for syntax errors, line
// and column.
Result<ModelShape> model_from_config_json(std::string_view text, const std::string& id);

}  // namespace orrery::catalog
