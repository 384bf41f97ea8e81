// The sizes at which storage is probed. agent/ measures with them and score/ plans for them, so
// that a measured rate stands beside one that was planned for the same requests.
#pragma once

#include <cstddef>

namespace orrery::storage {

inline constexpr std::size_t kProbeSampleBytes = 110'000;  // the mean picture of ImageNet
inline constexpr std::size_t kProbeShardBytes = std::size_t{32} << 20;
inline constexpr std::size_t kProbeObjectBytes = std::size_t{16} << 20;  // of a bucket, large ones

}  // namespace orrery::storage
