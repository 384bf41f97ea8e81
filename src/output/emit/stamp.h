// Where a file came from, written inside it, and what was written, stored beside it.
//
// The stamp is for people: comment lines at the top of every file with the design's name, its
// version and the digest of its canonical text. The manifest (`.orrery-emit.json` in the target
// folder) is for the next run: the SHA-256 of every file as it was written, so that a hand edit can
// be distinguished from a file that is out of date, even in formats without comments. It covers the
// files of several targets (slurm, prometheus ...) in the same folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/emit/file.h"

namespace orrery::emit {

inline constexpr std::string_view kManifestFile = ".orrery-emit.json";

// Returns "design "NAME" version "V" digest D", one line without a comment sign, for JSON
// descriptions.
std::string stamp_text(const EmitSource& source);
// Returns two comment lines, each beginning with `prefix` ("#", "//").
std::string stamp(const EmitSource& source, std::string_view prefix);

struct ManifestEntry {
  std::string target;  // "slurm"
  std::string path;
  std::string digest;  // SHA-256 of the text as written
  std::string design;  // digest of the design from which it was made

  bool operator==(const ManifestEntry&) const = default;
};
using Manifest = std::vector<ManifestEntry>;  // sorted by path

const ManifestEntry* find_entry(const Manifest& manifest, std::string_view path);
std::string write_manifest(const Manifest& manifest);
// Reads the output of write_manifest. Fails with "emit.manifest" for anything else.
Result<Manifest> read_manifest(std::string_view text, const std::string& file);

}  // namespace orrery::emit
