#include "live/agent/item_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "live/agent/checkpoint_format.h"

namespace orrery::agent {
namespace {

constexpr std::size_t kReadBytes = std::size_t{4} << 20;

Result<CopyFile> read_file(KeepStore& store, const std::string& id, const KeptFile& file,
                           const std::function<bool()>& stop) {
  const auto source = store.read(id, file);
  if (!source) return std::unexpected(source.error());
  HashingSource hashing(*source);
  std::vector<char> piece(std::clamp<std::uint64_t>(file.bytes + 1, 1, kReadBytes));
  std::uint64_t done = 0;
  while (done < file.bytes) {
    if (stop && stop()) return stays("stopped");
    const auto got = hashing(done, piece);
    if (!got || *got == 0) return stays(file.path + " cannot be read");
    done += *got;
  }
  if (file.bytes == 0) return CopyFile{.sha256 = s3::sha256_hex("")};
  auto digest = hashing.finish(file.bytes);
  if (!digest) return stays(file.path + " changed its length while it was read");
  return CopyFile{.bytes = file.bytes, .sha256 = std::move(*digest)};
}

// Returns an empty text if the file is as long as its header says.
Result<std::string> failed_length(KeepStore& store, const KeptItem& item, const KeptFile& file) {
  KeptFile head = file;
  head.bytes = std::min<std::uint64_t>(file.bytes, 8);
  auto text = read_text(store, item.id, head);
  if (!text) return std::unexpected(text.error());
  const auto header = safetensors_header_bytes(*text);
  if (!header) {
    return fmt::format("{}: it does not begin with a safetensors header of at most {} MB",
                       file.path, kSafetensorsHeaderMax / 1'000'000);
  }
  if (*header + 8 > file.bytes) {
    return fmt::format("{}: its safetensors header needs {} bytes, but the file has only {}",
                       file.path, *header + 8, file.bytes);
  }
  head.bytes = 8 + *header;
  text = read_text(store, item.id, head, kSafetensorsHeaderMax + 8);
  if (!text) return std::unexpected(text.error());
  const auto bytes = safetensors_bytes(*text);
  if (!bytes) return file.path + ": its safetensors header cannot be read";
  if (*bytes == file.bytes) return std::string();
  return fmt::format("{}: the file has {} bytes, but its safetensors header says {}", file.path,
                     file.bytes, *bytes);
}

Result<std::string> failed_index(KeepStore& store, const KeptItem& item, const KeptFile& file) {
  if (file.bytes > kTextMax) return file.path + ": the file is too long to be an index";
  const auto text = read_text(store, item.id, file);
  if (!text) return std::unexpected(text.error());
  const auto missing = missing_shard(*text, item);
  if (!missing) return std::string();
  return fmt::format("{}: it lists {}, which is missing", file.path, *missing);
}

}  // namespace

std::unexpected<Diagnostics> stays(std::string what) {
  return fail({.code = "lifecycle.refused", .what = std::move(what)});
}

Result<std::string> read_text(KeepStore& store, const std::string& id, const KeptFile& file,
                              std::uint64_t bytes_max) {
  if (file.bytes > bytes_max) return stays(file.path + " is too long to be read as text");
  const auto source = store.read(id, file);
  if (!source) return std::unexpected(source.error());
  std::string text(file.bytes, '\0');
  for (std::size_t done = 0; done < text.size();) {
    const auto got = (*source)(done, std::span(text).subspan(done));
    if (!got || *got == 0) return stays(file.path + " cannot be read");
    done += *got;
  }
  return text;
}

std::optional<std::size_t> HashingSource::operator()(std::uint64_t offset, std::span<char> into) {
  const auto got = source_(offset, into);
  if (!got) return got;
  if (offset == 0) hash_ = s3::Hash(s3::HashKind::sha256), hashed_ = 0;
  if (offset == hashed_) {
    hash_.add({into.data(), *got});
    hashed_ += *got;
  }
  return got;
}

std::optional<std::string> HashingSource::finish(std::uint64_t bytes) {
  if (hashed_ != bytes) return std::nullopt;
  return to_hex(hash_.finish());
}

Result<std::map<std::string, CopyFile>> read_item(KeepStore& store, const KeptItem& item,
                                                  const std::function<bool()>& stop) {
  std::map<std::string, CopyFile> read;
  for (const KeptFile& file : item.files) {
    if (!is_content(file)) continue;
    auto found = read_file(store, item.id, file, stop);
    if (!found) return std::unexpected(found.error());
    read[file.path] = std::move(*found);
  }
  return read;
}

Result<std::string> failed_check(KeepStore& store, const KeptItem& item,
                                 const std::map<std::string, CopyFile>& read) {
  if (const KeptFile* file = item.file(kManifest)) {
    if (file->bytes > kTextMax) {
      return fmt::format("{}: the file is too long to be a manifest", kManifest);
    }
    const auto text = read_text(store, item.id, *file);
    if (!text) return std::unexpected(text.error());
    const auto manifest = read_manifest(*text);
    if (!manifest) return fmt::format("{}: the file is not a valid manifest", kManifest);
    if (std::string other = difference(*manifest, read); !other.empty()) return other;
  }
  for (const KeptFile& file : item.files) {
    Result<std::string> failed = std::string();
    if (file.path.ends_with(".safetensors.index.json")) failed = failed_index(store, item, file);
    if (file.path.ends_with(".safetensors")) failed = failed_length(store, item, file);
    if (!failed || !failed->empty()) return failed;
  }
  return std::string();
}

}  // namespace orrery::agent
