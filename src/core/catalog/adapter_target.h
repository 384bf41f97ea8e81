// The matrix products of a layer to which a low-rank adapter (LoRA) is attached, in training and in
// serving.
#pragma once

#include "core/base/words.h"

namespace orrery::catalog {

enum class AdapterTarget { qkv, o, mlp };
inline constexpr Word<AdapterTarget> kAdapterTargetWords[] = {
    {AdapterTarget::qkv, "qkv"},
    {AdapterTarget::o, "o"},
    {AdapterTarget::mlp, "mlp"},
};
constexpr WordTable<AdapterTarget> words_of(AdapterTarget) { return kAdapterTargetWords; }
constexpr bool is_adapter_target(std::string_view word) {
  return from_word<AdapterTarget>(word).has_value();
}

}  // namespace orrery::catalog
