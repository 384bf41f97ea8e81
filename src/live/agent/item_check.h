// Reads an item's files and checks them against the length in a safetensors header, the shards in
// an index and the digests in a manifest (checkpoint_format.h, copy_manifest.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "live/agent/copy_manifest.h"
#include "live/agent/keep_store.h"
#include "live/s3/hash.h"

namespace orrery::agent {

// Refuses an action; the item stays unchanged.
std::unexpected<Diagnostics> stays(std::string what);

// Returns the whole text of a file. Fails if it is longer than `bytes_max`.
Result<std::string> read_text(KeepStore& store, const std::string& id, const KeptFile& file,
                              std::uint64_t bytes_max = kTextMax);

// Hashes the bytes that are read through it. Reading from offset 0 again starts over.
class HashingSource {
 public:
  explicit HashingSource(net::BodySource source) : source_(std::move(source)) {}

  std::optional<std::size_t> operator()(std::uint64_t offset, std::span<char> into);
  // Returns nullopt unless the file was read up to `bytes` without a gap.
  std::optional<std::string> finish(std::uint64_t bytes);

 private:
  net::BodySource source_;
  s3::Hash hash_{s3::HashKind::sha256};
  std::uint64_t hashed_ = 0;
};

// Reads every byte of the item's content, unless `stop` returns true between two pieces.
Result<std::map<std::string, CopyFile>> read_item(KeepStore& store, const KeptItem& item,
                                                  const std::function<bool()>& stop);

// Returns the file that fails a check, and which check, or an empty text if all pass. `read` is the
// result of read_item().
Result<std::string> failed_check(KeepStore& store, const KeptItem& item,
                                 const std::map<std::string, CopyFile>& read);

}  // namespace orrery::agent
