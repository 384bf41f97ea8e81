// Whether the metadata of a folder are those of its store, as new as its drives have seen them, and
// whole: found out by reading alone, before anything is opened for writing.
//
// Compared are the id in FOLDER/store, the id in the metadata's row `nstore`, and what the drives
// have seen (witness.h); after an orderly stop also each file of the metadata with the list of them
// (seal.h), after a crash the MANIFEST with its note (manifest_note.h). A store from before ids has
// none of that: its drives are listed once, and it is refused if they hold blobs of runs that the
// metadata do not know, or any where these know of none.
#pragma once

#include "core/base/diagnostic.h"
#include "live/store/seal.h"

namespace orrery::store {

struct Identity {
  std::string id;             // of FOLDER/store
  std::string folder;         // of the store
  std::string place;          // of the metadata, for people
  bool is_rocks = true;       // files in FOLDER/metadata
  bool accepts_loss = false;  // goes on with metadata that are behind, and notes it
};

struct Recognised {
  MetadataFacts facts;
  std::optional<Witness> witness;
  bool behind = false;  // and it was accepted
  Diagnostics notes;
};

// What can be said before RocksDB is asked: the fault names the file that is missing or damaged.
struct Sealed {
  std::optional<Witness> witness;  // the newest
  std::optional<Seal> seal;        // of the stop that nothing has followed
};
Result<Sealed> check_sealed(const Identity& of, const DriveSet& drives);
// Why metadata cannot be read, with the damaged file where that can be found out; else as it was
// said.
Diagnostics blamed(const Identity& of, const std::optional<Seal>& seal, const Diagnostics& said);
// The metadata, open to be read, against the store's file and the drives.
Result<Recognised> check_identity(const Identity& of, rows::Metadata& metadata,
                                  const DriveSet& drives, const std::optional<Witness>& witness);

std::string sealed_file(const std::string& folder);

}  // namespace orrery::store
