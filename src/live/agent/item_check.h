// Reads an item's files and checks what they say of themselves: lengths that a safetensors header
// announces, shards that an index names, digests that a manifest lists (checkpoint_format.h,
// copy_manifest.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "live/agent/copy_manifest.h"
#include "live/agent/keep_store.h"
#include "live/s3/hash.h"

namespace orrery::agent {

std::unexpected<Diagnostics> stays(std::string what);

// All of a file that is text; a fault if it is longer than `bytes_max`.
Result<std::string> read_text(KeepStore& store, const std::string& id, const KeptFile& file,
                              std::uint64_t bytes_max = kTextMax);

// Hashes what is read through it, from the last time that it was read from the beginning.
class HashingSource {
 public:
  explicit HashingSource(net::BodySource source) : source_(std::move(source)) {}

  std::optional<std::size_t> operator()(std::uint64_t offset, std::span<char> into);
  // Nothing if it was not read to `bytes` without a gap.
  std::optional<std::string> finish(std::uint64_t bytes);

 private:
  net::BodySource source_;
  s3::Hash hash_{s3::HashKind::sha256};
  std::uint64_t hashed_ = 0;
};

// Reads every byte of the item's content. `stop` ends it between two pieces.
Result<std::map<std::string, CopyFile>> read_item(KeepStore& store, const KeptItem& item,
                                                  const std::function<bool()>& stop);

// The file that fails a check, and the check, or nothing if all of them pass. `read`: what
// read_item() found.
Result<std::string> failed_check(KeepStore& store, const KeptItem& item,
                                 const std::map<std::string, CopyFile>& read);

}  // namespace orrery::agent
