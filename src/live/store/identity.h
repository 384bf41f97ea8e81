// Checks that the metadata in a folder belongs to its store, is as new as the drives have recorded,
// and is complete. The checks only read, before anything is opened for writing.
//
// They compare the id in FOLDER/store, the id in the metadata's row `nstore`, and what the drives
// have recorded (witness.h); after a clean stop also each file of the metadata with the list of
// them (seal.h), and after a crash the MANIFEST with its note (manifest_note.h). A store made
// before stores had ids has none of these. Its drives are listed once, and it is refused if they
// hold blobs of runs that the metadata does not know, or any blobs when the metadata knows none.
#pragma once

#include "core/base/diagnostic.h"
#include "live/store/seal.h"

namespace orrery::store {

struct Identity {
  std::string id;             // id in FOLDER/store
  std::string folder;         // folder of the store
  std::string place;          // place of the metadata, for messages
  bool is_rocks = true;       // the metadata is in files in FOLDER/metadata
  bool accepts_loss = false;  // continues with metadata that lost its newest commits, and adds a
                              // note
};

struct Recognised {
  MetadataFacts facts;
  std::optional<Witness> witness;
  bool behind = false;  // the metadata lost commits, and this was accepted
  Diagnostics notes;
};

// The checks that are possible before RocksDB is used. The fault names the file that is missing or
// damaged.
struct Sealed {
  std::optional<Witness> witness;  // the newest
  std::optional<Seal> seal;        // set if the last stop was clean and nothing was written since
};
Result<Sealed> check_sealed(const Identity& of, const DriveSet& drives);
// Returns why the metadata cannot be read and names the damaged file if it can be found; otherwise
// returns `said`.
Diagnostics blamed(const Identity& of, const std::optional<Seal>& seal, const Diagnostics& said);
// Compares the metadata, which is open for reading, with the store's file and the drives.
Result<Recognised> check_identity(const Identity& of, rows::Metadata& metadata,
                                  const DriveSet& drives, const std::optional<Witness>& witness);

std::string sealed_file(const std::string& folder);

}  // namespace orrery::store
