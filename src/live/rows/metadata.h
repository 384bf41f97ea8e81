// The port to what the store knows of its objects: rows of key and value, in the order of the keys'
// bytes, changed by atomic commits.
//
// Promises. A commit that returned true is durable and visible as a whole to every later get and
// cursor (one that asked for less is visible too, and is lost in a crash before those that came
// after it); one that returned false changed nothing, because a row that it expects was another by
// then. So a caller reads, decides by a pure function, commits what it read as expectation, and
// begins again on false. A cursor sees one moment: the one when it was made.
//
// Faults. `failed` or `full` of a commit leave it undecided, as a crash does: the rows are as
// before or as after, never between. Any call may fail; none blocks for long.
//
// Threads. All calls from any thread, at once; a cursor belongs to one.
//
// Gateways. Where several share the rows, each run of one holds its number for as long as it lives,
// and one of them leads: it keeps house. Whether a run lives is a guess, for a connection may be
// lost and its gateway go on; so what died is given up by a commit on its row, which every commit
// that names its files expects (Store::fence). Alone, a run leads and no other lives.
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
  std::optional<std::string> value;  // none: the row goes, or is expected not to be there
};

struct Commit {
  std::vector<RowChange> expects = {};  // rows as they were read
  std::vector<RowChange> changes = {};
  bool durable = true;  // else only once a later commit is, or flush() has been called
};

class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual void seek(std::string_view key) = 0;  // to the first row at or after it
  virtual void next() = 0;
  virtual bool valid() const = 0;  // stands on a row
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual drives::Outcome<void> state()
      const = 0;  // not valid() is the end of the rows only where this is good
};

class Metadata {
 public:
  virtual ~Metadata() = default;
  virtual drives::Outcome<std::optional<std::string>> get(std::string_view key) = 0;
  virtual drives::Outcome<bool> commit(const Commit& commit) = 0;
  virtual drives::Outcome<void> flush() = 0;  // all commits before it are durable
  virtual std::unique_ptr<Cursor> cursor() = 0;
  // Takes what the rows that begin with `prefix` held before off the disk, as far as the engine
  // reaches: secrets that stood there in the clear.
  virtual drives::Outcome<void> forget_before(std::string_view) { return {}; }

  // A number that grows with the commits that are durable and never falls, not even over restarts,
  // unless rows are lost (witness.h); 0: these metadata count nothing.
  virtual std::uint64_t commits() const { return 0; }
  // Reads all that is stored through; the fault names the file that is damaged.
  virtual drives::Outcome<void> check_files() { return {}; }

  virtual bool is_shared() const { return false; }
  // From now on this run is alive, and the one it held before is not; false: another holds it.
  virtual drives::Outcome<bool> hold_run(std::uint64_t) { return true; }
  virtual drives::Outcome<bool> is_held(std::uint64_t) { return false; }  // by another gateway
  virtual drives::Outcome<bool> leads() { return true; }
};

}  // namespace orrery::rows
