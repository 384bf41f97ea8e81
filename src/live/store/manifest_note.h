// A note of how far RocksDB's MANIFEST had been written, next to the metadata: FOLDER/manifest.
//
//   orrery-manifest 1
//   MANIFEST-000015 261 CRC-32C      the file that CURRENT names, its size, and their checksum
//   check CRC-32C                    of the lines above
//
// The MANIFEST lists the tables. One that lost its end, or an older one that was restored, lists
// fewer of them: RocksDB then opens without an error, replays the newest log on top, and deletes
// the tables that are not listed. Commits are counted from that log, so the witnesses (witness.h)
// notice nothing. After a clean stop the list in FOLDER/sealed reveals it; after a crash this note
// does.
//
// The note is written after the metadata was opened and after each flush and each merge, before
// RocksDB removes the logs and tables that are no longer needed. A MANIFEST only grows, and its
// number only increases. Its bytes are synced first, so after a power cut the note never describes
// bytes that are lost.
#pragma once

#include <optional>
#include <string>

namespace orrery::store {

std::string manifest_note_file(const std::string& folder);

// Writes the note for FOLDER/metadata. Returns false on failure; the previous note then stays, and
// is still true.
bool note_manifest(const std::string& folder);

struct ManifestDoubt {
  std::string what;
  bool is_older = false;  // CURRENT names an earlier file; otherwise a file is missing or damaged
};
// Returns a doubt if CURRENT names a file that does not exist, or if the MANIFEST is not as noted.
// Returns nullopt if everything that was noted is there, if there is no note, or if CURRENT cannot
// be read.
std::optional<ManifestDoubt> manifest_doubt(const std::string& folder);

}  // namespace orrery::store
