// What the drives have recorded about the metadata, so that metadata that is empty, belongs to
// another store or is an older copy is detected before anything is written or removed.
//
// Each drive keeps a witness in its note (drive.h): the store's id, the last run that began, how
// many commits were durable, and whether the store was stopped cleanly. A copy is in FOLDER/sealed
// with the list of the metadata's files (seal.h).
//
//   a commit is durable -> the number goes to the note of one drive, not synced: it outlives this
//                          process. Every two seconds, and at the end, to all drives, synced.
//   a run has its row   -> its number goes to all drives, synced, before it writes a file
//   before the metadata is opened for writing, all drives record that the store is not stopped
//
// So a witness never claims more than the metadata had on its disk. Metadata with fewer commits, or
// an earlier run, than the newest witness has lost acknowledged changes.
//
// Limits: a power cut loses what was noted in the last two seconds, so metadata that loses only
// that much, on a disk that acknowledges syncs falsely, is not detected. For metadata that several
// gateways share, the leader counts every few seconds, not per commit.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "live/rows/metadata.h"
#include "live/store/blob.h"

namespace orrery::store {

struct Witness {
  std::string store;          // id of the store
  std::uint64_t run = 0;      // the last run that began
  std::uint64_t commits = 0;  // durable commits, as counted by the metadata
  bool stopped = false;       // stopped cleanly, and nothing has been written since
};
std::string witness_text(const Witness& witness);
// Returns nullopt if the text is not a witness: truncated, changed, or something else.
std::optional<Witness> witness_of(std::string_view text);
// Returns true if `one` was written after `other`. If both are equally far, a running one is newer
// than a stopped one.
bool is_newer(const Witness& one, const Witness& other);
// Returns the newest of the drives' witnesses and `besides`. Witnesses of other stores are ignored.
std::optional<Witness> newest_witness(const DriveSet& drives, const std::string& store,
                                      const std::optional<Witness>& besides);

// What the metadata says about itself, read without writing.
struct MetadataFacts {
  std::optional<std::string> store;  // the store's id in the metadata
  std::uint64_t run = 0;
  std::uint64_t commits = 0;
  bool has_blobs = false;  // blobs or garbage
};
drives::Outcome<MetadataFacts> facts_of(rows::Metadata& metadata);

// Returns why the metadata cannot be trusted; nullopt if it can.
enum class Doubt { other_store, no_id, behind };
std::optional<Doubt> doubt_of(const MetadataFacts& facts, const std::string& store,
                              const std::optional<Witness>& witness);

// Writes witnesses to the drives. All calls may come from any thread.
class Witnesses {
 public:
  // `each_commit`: only this process commits, so each commit can be noted.
  Witnesses(DriveSet drives, Witness now, bool each_commit);

  drives::Outcome<void> set_running();             // records that the store is running
  drives::Outcome<void> begin(std::uint64_t run);  // records a run that has its row
  void note(std::uint64_t commits);                // Notes the number of durable commits.
  void keep();                                     // Syncs new information to all drives.
  Witness stop(std::uint64_t commits);             // Returns the witness that was written.
  Witness now() const;
  // Returns whether no drive has a witness that claims more than this metadata.
  bool agrees(const MetadataFacts& facts) const;

 private:
  // Fails if no drive accepted the witness.
  drives::Outcome<void> write_all();

  DriveSet drives_;
  bool each_commit_;
  std::atomic<std::uint64_t> commits_;
  std::atomic<bool> noting_ = false;
  mutable std::mutex mutex_;  // protects the members below, and writing to all drives
  Witness now_;
  std::uint64_t kept_ = 0;
};

// Returns metadata whose commits are noted on the drives.
std::unique_ptr<rows::Metadata> witnessed(std::unique_ptr<rows::Metadata> metadata,
                                          Witnesses& witnesses);

}  // namespace orrery::store
