// The manifest that ends a copy of the lifecycle agent, `.orrery-copy.json`: the files with their
// sizes and SHA-256, when the item was made, and the digest of all of it.
//
// It is text from outside like any other: its paths are checked as paths are, and it is held
// against the files that are there. The digest of an item is the SHA-256 over its list of files
// ("PATH\nBYTES
// \nSHA256\n" each), without marks and manifest, so that it is the same everywhere.
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
// A manifest, a tracker or an index beyond this is none.
inline constexpr std::uint64_t kTextMax = std::uint64_t{64} << 20;

bool is_mark(const std::string& path);
// Neither a mark nor the manifest.
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

// The digest of an item with these files.
std::string digest_of(const std::map<std::string, CopyFile>& files);
std::string text_of(const CopyManifest& manifest);
// Nothing if the text is no manifest of this version.
std::optional<CopyManifest> read_manifest(std::string_view text);

// A path in it that leads out of the item, with its fault; nothing if there is none.
std::string manifest_path_fault(const CopyManifest& manifest);
// The first file in which the item, as it was read, differs from its manifest, and how; nothing if
// they agree.
std::string difference(const CopyManifest& manifest, const std::map<std::string, CopyFile>& read);

}  // namespace orrery::agent
