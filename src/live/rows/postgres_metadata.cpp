#include "live/rows/postgres_metadata.h"

#include <algorithm>
#include <map>
#include <utility>

#include "live/rows/postgres_connections.h"

namespace orrery::rows {
namespace {

// PostgreSQL allows a hundred connections by default, which is enough for two gateways.
constexpr std::size_t kCallsMost = 16;
constexpr std::size_t kCursorsMost = 24;
constexpr std::uint64_t kLockStripes = 4096;
constexpr std::size_t kStripesMost = 48;  // per commit; a commit with more takes the lock on all
                                          // stripes
constexpr int kFirstPage = 16;
constexpr int kPageMost = 1024;
constexpr int kOpenLock = 0x4f520001;  // gateways take it shared
constexpr int kRunLock = 0x4f520002;
constexpr int kLeadLock = 0x4f520003;
constexpr const char* kStoreRow = "nstore";

// Runs in one transaction, by one gateway at a time. The lock with number 0 covers all stripes.
constexpr const char* kSchema = R"(
SELECT pg_advisory_xact_lock(1330774016, 0);
CREATE TABLE IF NOT EXISTS orrery_rows (key bytea PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE IF NOT EXISTS orrery_flushed (one boolean PRIMARY KEY, times bigint NOT NULL);
CREATE OR REPLACE FUNCTION orrery_commit_1(durable boolean, locks bigint[], alone boolean[],
    expected_keys bytea[], expected bytea[], changed_keys bytea[], changed bytea[])
    RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF NOT durable THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  FOR i IN 1 .. cardinality(locks) LOOP
    IF alone[i] THEN
      PERFORM pg_advisory_xact_lock(locks[i]);
    ELSE
      PERFORM pg_advisory_xact_lock_shared(locks[i]);
    END IF;
  END LOOP;
  IF EXISTS (SELECT FROM unnest(expected_keys, expected) AS e(k, v)
             LEFT JOIN orrery_rows r ON r.key = e.k WHERE r.value IS DISTINCT FROM e.v) THEN
    RETURN false;
  END IF;
  DELETE FROM orrery_rows r USING unnest(changed_keys, changed) AS c(k, v)
      WHERE c.v IS NULL AND r.key = c.k;
  INSERT INTO orrery_rows SELECT k, v FROM unnest(changed_keys, changed) AS c(k, v)
      WHERE v IS NOT NULL ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value;
  RETURN true;
END $$;)";

constexpr const char* kCommit =
    "SELECT orrery_commit_1($1::boolean, $2::bigint[], $3::boolean[], $4::bytea[], $5::bytea[], "
    "$6::bytea[], $7::bytea[])";
constexpr const char* kGet = "SELECT value FROM orrery_rows WHERE key = $1::bytea";
constexpr const char* kPage =
    "SELECT key, value FROM orrery_rows WHERE key >= $1::bytea ORDER BY key LIMIT $2::int";
constexpr const char* kMoment =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT FROM orrery_rows LIMIT 1";
// Syncing one commit also makes all earlier ones durable.
constexpr const char* kFlush =
    "INSERT INTO orrery_flushed VALUES (true, 1) "
    "ON CONFLICT (one) DO UPDATE SET times = orrery_flushed.times + 1";

std::string_view value_at(const PGresult* reply, int row, int column) {
  return {PQgetvalue(reply, row, column),
          static_cast<std::size_t>(PQgetlength(reply, row, column))};
}

bool is_true(const Reply& reply) {
  return PQntuples(reply.get()) == 1 && value_at(reply.get(), 0, 0) == std::string_view("\1", 1);
}

// Returns an array of bytea as text.
std::string array_of(const std::vector<std::optional<std::string>>& values) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text = "{";
  for (const auto& value : values) {
    if (text.size() > 1) text += ',';
    if (!value) {
      text += "NULL";
      continue;
    }
    text += "\"\\\\x";
    for (const char c : *value) {
      text += kHex[static_cast<unsigned char>(c) >> 4];
      text += kHex[static_cast<unsigned char>(c) & 15];
    }
    text += '"';
  }
  return text + '}';
}

std::uint64_t stripe_of(std::string_view key) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return 1 + hash % kLockStripes;
}

// The numbers of the locks in ascending order, and for each whether it is exclusive.
struct Locks {
  std::string numbers = "{0";
  std::string alone = "{f";
};
Locks locks_of(const Commit& commit) {
  std::map<std::uint64_t, bool> wanted;
  for (const RowChange& row : commit.expects) wanted.emplace(stripe_of(row.key), false);
  for (const RowChange& row : commit.changes) wanted[stripe_of(row.key)] = true;
  if (wanted.size() > kStripesMost) return {"{0}", "{t}"};
  Locks locks;
  for (const auto& [number, alone] : wanted) {
    locks.numbers += ',' + std::to_string(number);
    locks.alone += alone ? ",t" : ",f";
  }
  return {locks.numbers + '}', locks.alone + '}'};
}

struct Columns {
  std::string keys;
  std::string values;
};
// Each key appears once; of several changes the last one counts.
Columns columns_of(const std::vector<RowChange>& rows) {
  std::map<std::string_view, const RowChange*> by_key;
  for (const RowChange& row : rows) by_key[row.key] = &row;
  std::vector<std::optional<std::string>> keys;
  std::vector<std::optional<std::string>> values;
  for (const auto& [key, row] : by_key) {
    keys.emplace_back(row->key);
    values.push_back(row->value);
  }
  return {array_of(keys), array_of(values)};
}

class PostgresCursor final : public Cursor {
 public:
  explicit PostgresCursor(drives::Outcome<ConnectionPool::Lent> lent) : lent_(std::move(lent)) {
    if (!lent_) {
      state_ = std::unexpected(lent_.error());
    } else {
      state_ = tell(lent_->get(), kMoment);
    }
  }
  ~PostgresCursor() override {
    if (lent_) (void)tell(lent_->get(), "COMMIT");
  }
  PostgresCursor(const PostgresCursor&) = delete;
  PostgresCursor& operator=(const PostgresCursor&) = delete;

  void seek(std::string_view key) override {
    // Rows that were already read come from the same snapshot.
    if (rows_ > 0 && key >= value_at(page_.get(), 0, 0) &&
        (at_end_ || key <= value_at(page_.get(), rows_ - 1, 0))) {
      int low = 0;
      for (int high = rows_; low < high;) {
        const int middle = low + (high - low) / 2;
        (value_at(page_.get(), middle, 0) < key ? low : high) =
            value_at(page_.get(), middle, 0) < key ? middle + 1 : middle;
      }
      at_ = low;
      return;
    }
    load(std::string(key));
  }
  void next() override {
    if (++at_ < rows_ || at_end_) return;
    load(std::string(value_at(page_.get(), rows_ - 1, 0)) + '\0');
  }
  bool valid() const override { return state_ && at_ < rows_; }
  std::string_view key() const override { return value_at(page_.get(), at_, 0); }
  std::string_view value() const override { return value_at(page_.get(), at_, 1); }
  drives::Outcome<void> state() const override { return state_; }

 private:
  void load(const std::string& from) {
    at_ = 0;
    rows_ = 0;
    if (!state_) return;
    const std::string most = std::to_string(limit_);
    auto page = ask(lent_->get(), kPage, {{from, true}, {most}});
    if (!page) {
      state_ = std::unexpected(page.error());
      return;
    }
    page_ = std::move(*page);
    rows_ = PQntuples(page_.get());
    at_end_ = rows_ < limit_;
    limit_ = std::min(limit_ * 4, kPageMost);
  }

  drives::Outcome<ConnectionPool::Lent> lent_;
  drives::Outcome<void> state_;
  Reply page_;
  int rows_ = 0;
  int at_ = 0;
  int limit_ = kFirstPage;
  bool at_end_ = false;
};

// A connection that lives as long as the gateway: its locks show which run the gateway holds.
class Session {
 public:
  Session(std::string where, bool alone) : where_(std::move(where)), alone_(alone) {}

  // Returns false if another program holds the lock. Reconnects if the connection was lost.
  drives::Outcome<bool> open() {
    const std::scoped_lock lock(mutex_);
    return opened();
  }
  drives::Outcome<bool> hold(std::uint64_t run) {
    const std::scoped_lock lock(mutex_);
    if (const auto good = opened(); !good || !*good) return good;
    if (held_ == run) return true;
    if (held_ != 0) (void)locked("SELECT pg_advisory_unlock($1::int, $2::int)", kRunLock, held_);
    held_ = 0;
    const auto mine = locked("SELECT pg_try_advisory_lock($1::int, $2::int)", kRunLock, run);
    if (mine && *mine) held_ = run;
    return mine;
  }
  drives::Outcome<bool> lead() {
    const std::scoped_lock lock(mutex_);
    if (const auto good = opened(); !good || !*good) return good;
    if (leads_) return true;
    const auto mine = locked("SELECT pg_try_advisory_lock($1::int, $2::int)", kLeadLock, 0);
    leads_ = mine && *mine;
    return mine;
  }

 private:
  drives::Outcome<bool> opened() {
    if (connection_ && tell(connection_.get(), "SELECT 1")) return true;
    held_ = 0;
    leads_ = false;
    connection_.reset();
    auto made = connect(where_);
    if (!made) return std::unexpected(made.error());
    connection_ = std::move(*made);
    const auto mine = locked(alone_ ? "SELECT pg_try_advisory_lock($1::int, $2::int)"
                                    : "SELECT pg_try_advisory_lock_shared($1::int, $2::int)",
                             kOpenLock, 0);
    if (!mine || !*mine) connection_.reset();
    return mine;
  }
  drives::Outcome<bool> locked(const char* statement, int kind, std::uint64_t number) {
    const auto reply = ask(connection_.get(), statement,
                           {{std::to_string(kind)}, {std::to_string(static_cast<int>(number))}});
    if (!reply) return std::unexpected(reply.error());
    return is_true(*reply);
  }

  std::mutex mutex_;
  std::string where_;
  bool alone_;
  Connection connection_;
  std::uint64_t held_ = 0;
  bool leads_ = false;
};

class PostgresMetadata final : public Metadata {
 public:
  explicit PostgresMetadata(const PostgresPlace& place)
      : calls_(place.where, kCallsMost),
        cursors_(place.where, kCursorsMost),
        session_(place.where, place.alone) {}

  drives::Outcome<bool> open() { return session_.open(); }

  drives::Outcome<std::optional<std::string>> get(std::string_view key) override {
    auto reply = asked(kGet, {{key, true}});
    // The connection may have been lost since its last use, so try another one.
    if (!reply && reply.error().kind == drives::PortFault::busy) reply = asked(kGet, {{key, true}});
    if (!reply) return std::unexpected(reply.error());
    if (PQntuples(reply->get()) == 0) return std::nullopt;
    return std::string(value_at(reply->get(), 0, 0));
  }

  drives::Outcome<bool> commit(const Commit& commit) override {
    const Locks locks = locks_of(commit);
    const Columns expected = columns_of(commit.expects);
    const Columns changed = columns_of(commit.changes);
    const auto reply = asked(kCommit, {{commit.durable ? "t" : "f"},
                                       {locks.numbers},
                                       {locks.alone},
                                       {expected.keys},
                                       {expected.values},
                                       {changed.keys},
                                       {changed.values}});
    if (!reply) return std::unexpected(reply.error());
    return is_true(*reply);
  }

  drives::Outcome<void> flush() override {
    const auto lent = calls_.lend();
    if (!lent) return std::unexpected(lent.error());
    return tell(lent->get(), kFlush);
  }

  std::unique_ptr<Cursor> cursor() override {
    return std::make_unique<PostgresCursor>(cursors_.lend());
  }

  bool is_shared() const override { return true; }
  drives::Outcome<bool> hold_run(std::uint64_t run) override { return session_.hold(run); }
  drives::Outcome<bool> leads() override { return session_.lead(); }
  drives::Outcome<bool> is_held(std::uint64_t run) override {
    const auto reply = asked("SELECT pg_try_advisory_xact_lock($1::int, $2::int)",
                             {{std::to_string(kRunLock)}, {std::to_string(static_cast<int>(run))}});
    if (!reply) return std::unexpected(reply.error());
    return !is_true(*reply);
  }

 private:
  drives::Outcome<Reply> asked(const char* statement, std::vector<Parameter> parameters) {
    const auto lent = calls_.lend();
    if (!lent) return std::unexpected(lent.error());
    return ask(lent->get(), statement, std::move(parameters));
  }

  ConnectionPool calls_;
  ConnectionPool cursors_;
  Session session_;
};

std::unexpected<Diagnostics> cannot(const PostgresPlace& place, const std::string& what,
                                    const std::string& why, const std::string& fix) {
  return fail(
      {.code = "store.metadata", .place = {place.where}, .what = what, .why = why, .fix = fix});
}

// Another program has the database open, so nothing is known about its contents.
std::unexpected<Diagnostics> in_use(const PostgresPlace& place, const std::string& what,
                                    const std::string& fix) {
  return fail({.code = "store.running", .place = {place.where}, .what = what, .fix = fix});
}

std::unexpected<Diagnostics> no_answer(const PostgresPlace& place, const std::string& why) {
  return fail({.code = "store.database",
               .place = {place.where},
               .what = "the database does not answer: " + why,
               .fix = "check that it runs and that its pg_hba.conf lets this user connect; the "
                      "password is read from PGPASSFILE"});
}

std::unexpected<Diagnostics> no_store(const PostgresPlace& place) {
  return cannot(place,
                "this store keeps its metadata in this database, but the database holds no store",
                "the database is empty, is the wrong one, or was restored without its rows",
                "give the right database, or restore it from a backup "
                "(docs/guide/store-operations.md)");
}

// Checks that the server really keeps what it acknowledges, and that the rows have their table.
Result<void> prepare(const PostgresPlace& place) {
  const auto connection = connect(place.where);
  if (!connection) return no_answer(place, connection.error().what);
  for (const char* name : {"fsync", "full_page_writes"}) {
    const auto reply = ask(connection->get(), "SELECT current_setting($1)", {{name}});
    if (reply && value_at(reply->get(), 0, 0) == "on") continue;
    return cannot(place, std::string("the database runs with this setting off: ") + name,
                  "after a power failure, writes that the store has acknowledged would be lost",
                  std::string("set ") + name + " = on in postgresql.conf");
  }
  const auto rows = ask(connection->get(), "SELECT to_regclass($1) IS NOT NULL", {{"orrery_rows"}});
  if (!rows) return cannot(place, "the database reports an error: " + rows.error().what, {}, {});
  if (place.how != RocksOpening::make && !is_true(*rows)) return no_store(place);
  if (place.how == RocksOpening::look) return {};
  if (const auto made = tell(connection->get(), kSchema); !made) {
    return cannot(place, "the store's tables cannot be created: " + made.error().what, {},
                  "allow this user to create tables and functions in this database");
  }
  return {};
}

// The first store that is created there claims the database.
Result<void> claim(Metadata& metadata, const PostgresPlace& place) {
  const bool makes = place.how == RocksOpening::make;
  const auto mine = makes ? metadata.commit({.expects = {{kStoreRow, std::nullopt}},
                                             .changes = {{kStoreRow, place.store}}})
                          : drives::Outcome<bool>(true);
  const auto owner = mine ? metadata.get(kStoreRow) : std::unexpected(mine.error());
  if (!owner) return cannot(place, "the database reports an error: " + owner.error().what, {}, {});
  if (*owner == place.store) return {};
  if (!*owner) return no_store(place);
  return cannot(place, "this database already holds another store",
                "a database can hold only one store", "give an empty database");
}

}  // namespace

Result<void> check_postgres_place(const std::string& where) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(where.c_str(), nullptr), &PQconninfoFree);
  const bool named = where.starts_with("postgresql://") || where.starts_with("postgres://");
  if (!named || !options || where.find_first_of("\r\n") != where.npos) {
    return cannot({where}, "this is not the address of a database", {},
                  "write postgresql://USER@HOST/NAME");
  }
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
    if (std::string_view(option->keyword) != "password" || !option->val) continue;
    return cannot({}, "the address of the database contains a password",
                  "the address is written to the store's file, which other users can read",
                  "remove the password; libpq reads it from PGPASSFILE or ~/.pgpass");
  }
  return {};
}

Result<std::unique_ptr<Metadata>> open_postgres_metadata(const PostgresPlace& place) {
  if (auto good = prepare(place); !good) return std::unexpected(good.error());
  auto metadata = std::make_unique<PostgresMetadata>(place);
  const auto opened = metadata->open();
  if (!opened) {
    return cannot(place, "the database reports an error: " + opened.error().what, {}, {});
  }
  if (!*opened && place.alone) {
    return in_use(place, "a gateway is running on this store", "stop all gateways first");
  }
  if (!*opened) {
    return in_use(place, "the store is being checked or repaired", "wait until this has finished");
  }
  if (auto good = claim(*metadata, place); !good) return std::unexpected(good.error());
  return metadata;
}

}  // namespace orrery::rows
