// How far RocksDB's MANIFEST had come, written beside the metadata: FOLDER/manifest.
//
//   orrery-manifest 1
//   MANIFEST-000015 261 CRC-32C      the file that CURRENT names, its bytes, and their checksum
//   check CRC-32C                    of all that
//
// The MANIFEST lists the tables. One that lost its end, or an older one that was put back, lists
// fewer of them: RocksDB then opens without a word, replays the newest log on top, and deletes the
// tables that are not listed. Commits are counted from that log, so the witnesses (witness.h) see
// nothing missing. After an orderly stop the list in FOLDER/sealed finds it; this note finds it
// after a crash.
//
// The note is written after the metadata were opened and after each flush and each merge, before
// RocksDB removes the logs and tables that are no longer needed. A MANIFEST only grows, and its
// number only rises. The bytes are synced first, so a power cut leaves no note of bytes that are
// gone.
#pragma once

#include <optional>
#include <string>

namespace orrery::store {

std::string manifest_note_file(const std::string& folder);

// Writes the note for FOLDER/metadata. Returns false if it cannot; the note before it then stays,
// and holds.
bool note_manifest(const std::string& folder);

struct ManifestDoubt {
  std::string what;
  bool is_older = false;  // CURRENT names an earlier file; otherwise the file itself is damaged
};
// Compares the MANIFEST with the note. Returns nullopt if it has all that was noted, if there is no
// note, or if CURRENT cannot be read.
std::optional<ManifestDoubt> manifest_doubt(const std::string& folder);

}  // namespace orrery::store
