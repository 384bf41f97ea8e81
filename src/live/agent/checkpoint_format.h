// Tells from a framework's own files whether a checkpoint is finished and whether it is sound.
//
// Finished: the file that the framework writes last exists.
//   torch.distributed.checkpoint  .metadata (written by rank 0 after all others)
//   Megatron-LM                   the tracker beside the items names this iteration or a later one
//   safetensors                   the index, with every shard that it names; a single model file
//   Hugging Face Trainer          trainer_state.json
// or a file that the user names. Nothing else counts: a size that stops growing proves nothing,
// since a writer may pause.
// Sound: a safetensors file is as long as its own header says, and every file that an index names
// exists. torch's and Megatron's files have no checksums, so their first reading is the reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "live/agent/keep_store.h"

namespace orrery::agent {

// Returns the number at the end of a name (1000 for "iter_0001000"), or 0 if there is none.
std::int64_t step_of(std::string_view id);

// `tracked` is the iteration that Megatron's tracker names. `marker` is a file that marks an item
// as finished, instead of those above; empty: none.
bool is_finished(const KeptItem& item, std::optional<std::int64_t> tracked,
                 const std::string& marker);

inline constexpr std::string_view kMegatronTracker = "latest_checkpointed_iteration.txt";
// A longer safetensors header counts as garbage.
inline constexpr std::uint64_t kSafetensorsHeaderMax = std::uint64_t{100} << 20;

// Returns the length that a safetensors file must have, or nullopt if it is not such a file. `head`
// is its first 8 bytes and the header whose length they give.
std::optional<std::uint64_t> safetensors_bytes(std::string_view head);
std::optional<std::uint64_t> safetensors_header_bytes(std::string_view first_eight);

// Returns a shard that the index lists but the item lacks, or nullopt if all exist. If the text is
// not an index, the index itself counts as missing.
std::optional<std::string> missing_shard(std::string_view index, const KeptItem& item);

}  // namespace orrery::agent
