// Where a file came from, said inside it, and what was written, kept beside it.
//
// The stamp is for people: comment lines at the top of every file that name the design, its version
// and the digest of its canonical text. The manifest (`.orrery-emit.json` in the target folder) is
// for the next run: the SHA-256 of every file as it was written, so that a hand edit is told apart
// from a file that is merely old, in formats without comments too. It keeps the files of several
// targets (slurm, prometheus ...) that share a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "output/emit/file.h"

namespace orrery::emit {

inline constexpr std::string_view kManifestFile = ".orrery-emit.json";

// "design "NAME" version "V" digest D", one line without a comment sign: for JSON descriptions.
std::string stamp_text(const EmitSource& source);
// Two comment lines, each opened by `prefix` ("#", "//").
std::string stamp(const EmitSource& source, std::string_view prefix);

struct ManifestEntry {
  std::string target;  // "slurm"
  std::string path;
  std::string digest;  // SHA-256 of the text as written
  std::string design;  // digest of the design it was made from

  bool operator==(const ManifestEntry&) const = default;
};
using Manifest = std::vector<ManifestEntry>;  // sorted by path

const ManifestEntry* find_entry(const Manifest& manifest, std::string_view path);
std::string write_manifest(const Manifest& manifest);
// Reads what write_manifest wrote; anything else is "emit.manifest".
Result<Manifest> read_manifest(std::string_view text, const std::string& file);

}  // namespace orrery::emit
