// The port to the store's metadata: rows of key and value, in the order of the keys' bytes, changed
// by atomic commits.
//
// Promises. A commit that returned true is durable, and every later get and cursor sees all of it.
// (A commit that asked for less is visible too; a crash loses it before any commit that was
// durable.) A commit that returned false changed nothing, because a row that it expects had
// changed. So a caller reads, decides by a pure function, commits with the rows it read as
// expectations, and starts again on false. A cursor sees the rows as they were when it was made.
//
// Faults. `failed` or `full` from a commit leaves its outcome unknown, as a crash does: the rows
// are as before or as after, never in between. Any call may fail; none blocks for long.
//
// Threads. All calls may come from any thread, at the same time; a cursor belongs to one thread.
//
// Gateways. If several gateways share the rows, each run of one holds its number while it is alive,
// and one of them leads: it does the upkeep. Whether a run is alive is only a guess, because a
// connection may be lost while its gateway continues. So a dead run is given up by a commit on its
// row, and every commit that names its files expects that row (Store::fence). A gateway that is
// alone always leads.
//
// Live: rocks_metadata.h, postgres_metadata.h. Simulated: memory_metadata_fixture.h, which crashes
// and fails on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/drives/fault.h"

namespace orrery::rows {

struct RowChange {
  std::string key;
  std::optional<std::string> value;  // nullopt: the row is removed, or expected not to exist
};

struct Commit {
  std::vector<RowChange> expects = {};  // rows as the caller read them
  std::vector<RowChange> changes = {};
  bool durable = true;  // false: becomes durable with a later durable commit or flush()
};

class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual void seek(std::string_view key) = 0;  // Moves to the first row at or after `key`.
  virtual void next() = 0;
  virtual bool valid() const = 0;  // Returns true if the cursor is on a row.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual drives::Outcome<void> state()
      const = 0;  // If not valid(): success at the end of the rows, otherwise the fault.
};

class Metadata {
 public:
  virtual ~Metadata() = default;
  virtual drives::Outcome<std::optional<std::string>> get(std::string_view key) = 0;
  virtual drives::Outcome<bool> commit(const Commit& commit) = 0;
  virtual drives::Outcome<void> flush() = 0;  // Makes all earlier commits durable.
  virtual std::unique_ptr<Cursor> cursor() = 0;
  // Removes old values of the rows that begin with `prefix` from the disk, as far as the engine
  // can. Used for secrets that were stored unencrypted.
  virtual drives::Outcome<void> forget_before(std::string_view) { return {}; }

  // Returns the number of durable commits. It never decreases, not even over restarts, unless rows
  // are lost (witness.h); 0 if this engine does not count them.
  virtual std::uint64_t commits() const { return 0; }
  // Reads everything that is stored. The fault names a damaged file.
  virtual drives::Outcome<void> check_files() { return {}; }

  virtual bool is_shared() const { return false; }
  // Marks this run as alive, instead of the run held before. Returns false if another gateway holds
  // it.
  virtual drives::Outcome<bool> hold_run(std::uint64_t) { return true; }
  virtual drives::Outcome<bool> is_held(std::uint64_t) { return false; }  // held by another gateway
  virtual drives::Outcome<bool> leads() { return true; }
};

}  // namespace orrery::rows
