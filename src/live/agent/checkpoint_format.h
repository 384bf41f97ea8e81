// Whether a checkpoint is finished, and whether its bytes can be right, by what its framework says.
//
// Finished: the file that a framework writes last is there.
//   torch.distributed.checkpoint  .metadata (written by rank 0 after all others)
//   Megatron-LM                   the tracker beside the items names this iteration or a later one
//   safetensors                   the index, with every shard that it names; a single model file
//   Hugging Face Trainer          trainer_state.json
// or a file of one's own choosing. Nothing else counts: sizes that stand still prove no end, for a
// writer may wait.
// Sound: a safetensors file is as long as its own header says; an index names files that are there.
// torch's and Megatron's files carry no checksums, so that what was read first is what is kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "live/agent/keep_store.h"

namespace orrery::agent {

// The number at the end of a name: "iter_0001000" is 1000; 0 where there is none.
std::int64_t step_of(std::string_view id);

// `tracked`: the iteration that Megatron's tracker names, if there is one. `marker`: the file that
// ends an item, where it is none of the above.
bool is_finished(const KeptItem& item, std::optional<std::int64_t> tracked,
                 const std::string& marker);

inline constexpr std::string_view kMegatronTracker = "latest_checkpointed_iteration.txt";
// A header is JSON; beyond this it is no header.
inline constexpr std::uint64_t kSafetensorsHeaderMax = std::uint64_t{100} << 20;

// Of a safetensors file that begins so: how long it must be; none where it is no such file. `head`
// holds its first 8 bytes and the header they announce.
std::optional<std::uint64_t> safetensors_bytes(std::string_view head);
std::optional<std::uint64_t> safetensors_header_bytes(std::string_view first_eight);

// Shards that an index names and the item does not have; all of it where it is no index.
std::optional<std::string> missing_shard(std::string_view index, const KeptItem& item);

}  // namespace orrery::agent
