// The metadata in PostgreSQL, for several gateways on one namespace: any may die, none holds state
// of its own.
//
// A commit is one call of a function of the database: it takes locks on stripes of keys, in their
// order (those it only reads shared; one on all where it has many keys), compares what it expects
// and changes the rows, in one transaction, synced before it answers; PostgreSQL gathers the syncs
// of all. A cursor is a transaction that sees one moment, and reads pages. A run is alive while the
// connection lives that holds its lock; so is the one that leads. Connections are few and kept; if
// the database does not answer, calls return `busy` and connect again.
//
// Where it is wrong: what a commit did that returned `busy` or `failed` is unknown, as after a
// crash. A server with `fsync` off is refused; a disk that acknowledges syncs falsely is not
// detected.
#pragma once

#include "core/base/diagnostic.h"
#include "live/rows/metadata.h"
#include "live/rows/rocks_metadata.h"

namespace orrery::rows {

struct PostgresPlace {
  std::string where;   // as libpq reads it, without a password: "postgresql://USER@HOST/NAME"
  std::string store;   // id of the store; a database holds one
  bool alone = false;  // for checks and repairs: no gateway may run at the same time
  // Only `make` takes a database that holds no store yet; `look` writes nothing.
  RocksOpening how = RocksOpening::make;
};

// Checks that `where` names such a database, without a password: it is stored where others read it.
Result<void> check_postgres_place(const std::string& where);

Result<std::unique_ptr<Metadata>> open_postgres_metadata(const PostgresPlace& place);

}  // namespace orrery::rows
