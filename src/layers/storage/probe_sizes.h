// The sizes at which storage is probed. agent/ measures with them and score/ plans for them, so
// that measured and planned rates are for the same requests.
#pragma once

#include <cstddef>

namespace orrery::storage {

inline constexpr std::size_t kProbeSampleBytes = 110'000;  // mean picture of ImageNet
inline constexpr std::size_t kProbeShardBytes = std::size_t{32} << 20;
// Large objects of a bucket.
inline constexpr std::size_t kProbeObjectBytes = std::size_t{16} << 20;

}  // namespace orrery::storage
