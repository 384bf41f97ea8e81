// What the drives have seen of the metadata, so that metadata which are empty, another store's, or
// older than they were are found out before anything is written or removed.
//
// Each drive keeps a witness in its note (drive.h): the store's id, the run that began last, how
// many commits were durable, and whether the store was stopped in order. A copy is in FOLDER/sealed
// with the list of the metadata's files (seal.h).
//
//   a commit is durable -> the number goes to the note of one drive, not synced: it outlives this
//                          process. Every two seconds, and at the end, to all drives, synced.
//   a run has its row   -> its number goes to all drives, synced, before it writes a file
//   before the metadata are opened for writing, all drives note that the store is not stopped
//
// So a witness never says more than the metadata had on their disk. Metadata with a lower number of
// commits, or an earlier run, than the newest witness have lost what was acknowledged.
//
// Where it is wrong: a power cut loses what was noted in the last two seconds, so metadata that
// lose only that much, on a disk that acknowledges syncs falsely, are not found out. Metadata that
// several gateways share are counted by the leader every few seconds, not per commit.
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
  std::string store;          // its id
  std::uint64_t run = 0;      // the last run that began
  std::uint64_t commits = 0;  // durable commits, as the metadata count them
  bool stopped = false;       // in order, and nothing has been written since
};
std::string witness_text(const Witness& witness);
// Returns nullopt if the text is no witness: cut, changed, or something else.
std::optional<Witness> witness_of(std::string_view text);
// Returns true if `one` was written after `other`. Of two equal ones, a running one is newer than a
// stopped one.
bool is_newer(const Witness& one, const Witness& other);
// Returns the newest of the drives' witnesses and `besides`; those of other stores are ignored.
std::optional<Witness> newest_witness(const DriveSet& drives, const std::string& store,
                                      const std::optional<Witness>& besides);

// What the metadata say about themselves, read without writing.
struct MetadataFacts {
  std::optional<std::string> store;  // the id in their row
  std::uint64_t run = 0;
  std::uint64_t commits = 0;
  bool has_blobs = false;  // or garbage
};
drives::Outcome<MetadataFacts> facts_of(rows::Metadata& metadata);

// Returns why metadata cannot be trusted; nullopt if they can.
enum class Doubt { other_store, no_id, behind };
std::optional<Doubt> doubt_of(const MetadataFacts& facts, const std::string& store,
                              const std::optional<Witness>& witness);

// Writes witnesses to the drives. All calls from any thread.
class Witnesses {
 public:
  // `each_commit`: by this process alone, so each commit can be noted.
  Witnesses(DriveSet drives, Witness now, bool each_commit);

  drives::Outcome<void> set_running();             // the store is not stopped any more
  drives::Outcome<void> begin(std::uint64_t run);  // the run has its row
  void note(std::uint64_t commits);                // Notes the number of durable commits.
  void keep();                                     // Syncs news to all drives.
  Witness stop(std::uint64_t commits);             // Returns what was written.
  Witness now() const;
  // Whether no drive has a witness that says more than these metadata.
  bool agrees(const MetadataFacts& facts) const;

 private:
  // The fault is that no drive took it.
  drives::Outcome<void> write_all();

  DriveSet drives_;
  bool each_commit_;
  std::atomic<std::uint64_t> commits_;
  std::atomic<bool> noting_ = false;
  mutable std::mutex mutex_;  // of what follows, and of writing to all drives
  Witness now_;
  std::uint64_t kept_ = 0;
};

// Metadata whose commits are noted.
std::unique_ptr<rows::Metadata> witnessed(std::unique_ptr<rows::Metadata> metadata,
                                          Witnesses& witnesses);

}  // namespace orrery::store
