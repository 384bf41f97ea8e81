// The list of the metadata's files, written when the store is stopped cleanly: FOLDER/sealed.
//
//   orrery-sealed 1
//   WITNESS                          the lines of witness.h, as the drives have them
//   NAME BYTES CRC-32C               CURRENT, the MANIFEST it names, the logs and the tables; "-":
//                                    the CRC was not computed
//   check CRC-32C                    of the lines above
//
// A store that starts compares its files with the list, and names a file that is missing, truncated
// or changed. Tables may have many gigabytes, and their blocks have checksums of their own. They
// are therefore read only if RocksDB refuses them, to find the damaged file, because RocksDB
// sometimes names another one. The list is removed before the metadata is written again, so it
// exists only after a clean stop. A program that does not know the list may have run since, or a
// backup may have been restored. RocksDB then has a MANIFEST that is not in the list, so the list
// is ignored and the witnesses decide.
#pragma once

#include "core/base/diagnostic.h"
#include "live/store/witness.h"

namespace orrery::store {

struct SealedFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> crc = {};
};
struct Seal {
  Witness witness;
  std::vector<SealedFile> files = {};
};
std::string seal_text(const Seal& seal);
std::optional<Seal> seal_of(std::string_view text);

// Lists the files of RocksDB in `metadata`; empty if the folder cannot be read. Tables never
// change, so those of the previous list keep their checksum.
std::vector<SealedFile> files_to_seal(const std::string& metadata,
                                      const std::vector<SealedFile>& before);

// Returns the first file that has changed, as a message with its path; nullopt if none has, or if
// the files are from another time. With `tables`, the tables are read as well.
std::optional<std::string> damage_since(const Seal& seal, const std::string& metadata,
                                        bool tables = false);

}  // namespace orrery::store
