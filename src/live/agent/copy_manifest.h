// The manifest `.orrery-copy.json`, which the lifecycle agent writes last when it copies an item:
// the files with their sizes and SHA-256, when the item was made, and the digest of the item.
//
// Others may have changed it, so its paths are checked like any path, and its entries are compared
// with the files. The digest of an item is the SHA-256 over "PATH\nBYTES\nSHA256\n" of each
// file, without marker files and manifest, so it is the same at every place.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/base/diagnostic.h"
#include "core/base/quantity.h"
#include "live/agent/keep_store.h"

namespace orrery::agent {

inline constexpr std::string_view kManifest = ".orrery-copy.json";
inline constexpr std::string_view kMilestone = ".orrery-milestone";
inline constexpr std::string_view kHold = ".orrery-hold";
// A longer manifest, tracker or index is not read.
inline constexpr std::uint64_t kTextMax = std::uint64_t{64} << 20;

bool is_mark(const std::string& path);
// Returns true if the file is neither a marker file nor the manifest.
bool is_content(const KeptFile& file);

struct CopyFile {
  std::uint64_t bytes = 0;
  std::string sha256;

  bool operator==(const CopyFile&) const = default;
};

struct CopyManifest {
  std::string item;
  Seconds made;
  std::string digest;
  std::map<std::string, CopyFile> files = {};  // by path
};

// Returns the digest of an item with these files.
std::string digest_of(const std::map<std::string, CopyFile>& files);
std::string text_of(const CopyManifest& manifest);
// Returns nullopt if the text is not a manifest of this version.
std::optional<CopyManifest> read_manifest(std::string_view text);

// Returns what is wrong with a path that leads out of the item, or an empty text.
std::string manifest_path_fault(const CopyManifest& manifest);
// Returns how the files that were read differ from the manifest, beginning with the path of the
// file, or an empty text if they agree.
std::string difference(const CopyManifest& manifest, const std::map<std::string, CopyFile>& read);

}  // namespace orrery::agent
