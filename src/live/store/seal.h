// The list of the metadata's files as a store that was stopped in order left them: FOLDER/sealed.
//
//   orrery-sealed 1
//   WITNESS                          the lines of witness.h, as the drives have them
//   NAME BYTES CRC-32C               CURRENT, the MANIFEST it names, the logs and the tables; "-":
//                                    it was not computed
//   check CRC-32C                    of all that
//
// A store that begins holds its files against it and names the one that is missing, cut or changed.
// Tables may be many gigabytes, and their blocks have checksums of their own: they are read through
// only to find the one to blame when RocksDB refuses them, for it sometimes blames another.
// It is removed before the metadata are written again, so it is there only after an orderly stop.
// A program that knows nothing of it may have run since, or a backup was put in place: RocksDB then
// has a MANIFEST that is not in the list, the list is passed over, and the witnesses judge.
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

// Lists the files of RocksDB in `metadata`; the folder cannot be read: none. Tables never change,
// so those of the list before keep their checksum.
std::vector<SealedFile> files_to_seal(const std::string& metadata,
                                      const std::vector<SealedFile>& before);

// Returns the first file that is not as it was, in words with its path; nullopt where all are, or
// where the files are of another time. With `tables` these are read through too.
std::optional<std::string> damage_since(const Seal& seal, const std::string& metadata,
                                        bool tables = false);

}  // namespace orrery::store
