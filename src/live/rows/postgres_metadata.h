// The metadata in PostgreSQL, for several gateways on one namespace. Any gateway may die; none
// holds state of its own.
//
// A commit is one call of a database function. In one transaction it takes locks on stripes of
// keys, in ascending order (shared for keys that it only reads; one lock on all stripes if it has
// many keys), compares the rows that it expects and changes the rows. The transaction is synced
// before it answers; PostgreSQL combines the syncs of all connections. A cursor is a transaction
// that sees one snapshot, and reads pages. A run is alive while the connection that holds its lock
// is open; the same holds for the leader. There are few connections and they are reused; if the
// database does not answer, calls return `busy` and connect again.
//
// Limits: the outcome of a commit that returned `busy` or `failed` is unknown, as after a crash. A
// server with `fsync` off is refused; a disk that acknowledges syncs falsely is not detected.
#pragma once

#include "core/base/diagnostic.h"
#include "live/rows/metadata.h"
#include "live/rows/rocks_metadata.h"

namespace orrery::rows {

struct PostgresPlace {
  std::string where;   // as libpq reads it, without a password: "postgresql://USER@HOST/NAME"
  std::string store;   // id of the store; a database can hold only one store
  bool alone = false;  // for checks and repairs: no gateway may run at the same time
  // Only `make` claims a database that holds no store yet; `look` writes nothing.
  RocksOpening how = RocksOpening::make;
};

// Checks that `where` names a database and contains no password, because other users can read where
// it is stored.
Result<void> check_postgres_place(const std::string& where);

Result<std::unique_ptr<Metadata>> open_postgres_metadata(const PostgresPlace& place);

}  // namespace orrery::rows
