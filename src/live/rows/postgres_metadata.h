// The metadata in PostgreSQL, for several gateways on one namespace: any may die, none holds state
// of its own.
//
// A commit is one call of a function of the database: it takes locks on stripes of keys, in their
// order (those it only reads shared; one on all where it has many keys), compares what it expects
// and changes the rows, in one transaction, synced before it answers; PostgreSQL gathers the syncs
// of all. A cursor is a transaction that sees one moment, and reads pages. A run is alive while the
// connection lives that holds its lock; so is the one that leads. Connections are few and kept;
// where the database does not answer, calls say `busy` and connect anew.
//
// Where it may mislead: what a commit answered by `busy` or `failed` did is not known, as after a
// crash. A server with `fsync` off is refused, one whose disk lies is not found out.
#pragma once

#include "core/base/diagnostic.h"
#include "live/rows/metadata.h"
#include "live/rows/rocks_metadata.h"

namespace orrery::rows {

struct PostgresPlace {
  std::string where;   // as libpq reads it, without a password: "postgresql://USER@HOST/NAME"
  std::string store;   // its id: a database holds one store
  bool alone = false;  // no gateway may run meanwhile, to look after what is there
  // Only `make` takes a database that holds no store yet; `look` writes nothing.
  RocksOpening how = RocksOpening::make;
};

// Whether this names such a place, and no password: it is written down where others read it.
Result<void> check_postgres_place(const std::string& where);

Result<std::unique_ptr<Metadata>> open_postgres_metadata(const PostgresPlace& place);

}  // namespace orrery::rows
