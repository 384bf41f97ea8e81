#include "app/server/job_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace orrery::server {
namespace {

// Format of the file; raised when a column is added or changes its meaning. Files of a later format
// are left untouched.
constexpr int kFormat = 1;
constexpr int kBusyMs = 300;

constexpr const char* kSetUp = R"(
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  BEGIN IMMEDIATE;
  CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL, title TEXT NOT NULL, request TEXT NOT NULL, state TEXT NOT NULL,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
    candidates INTEGER NOT NULL, done INTEGER NOT NULL, evaluated INTEGER NOT NULL,
    checkpoint TEXT NOT NULL, best TEXT NOT NULL, result TEXT NOT NULL, problem TEXT NOT NULL
  ) STRICT;
  PRAGMA user_version = 1;
  COMMIT;
)";

// A prepared statement. Values are bound, and columns read, in the order of the statement.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    if (statement_ != nullptr) {
      sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    }
    return *this;
  }
  Statement& bind(std::int64_t number) {
    if (statement_ != nullptr) sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }

  // Returns true if there is another row.
  bool step() {
    code_ = statement_ != nullptr ? sqlite3_step(statement_) : sqlite3_errcode(database_);
    column_ = 0;
    return code_ == SQLITE_ROW;
  }
  bool failed() const { return code_ != SQLITE_ROW && code_ != SQLITE_DONE; }

  std::int64_t number() { return sqlite3_column_int64(statement_, column_++); }
  std::string text() {
    const auto* bytes = sqlite3_column_text(statement_, column_);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column_++));
    return bytes != nullptr ? std::string(reinterpret_cast<const char*>(bytes), size) : "";
  }

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int column_ = 0;
  int code_ = SQLITE_OK;
};

// Creates the folder of the file if it is missing. Makes both readable by their owner only, because
// designs and their costs are private; SQLite gives its other files the same mode.
void keep_to_owner(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;  // SQLite will report why
  ::fchmod(file, 0600);
  ::close(file);
}

void make_folder_of(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  if (folder.empty() || fs::exists(folder, ignored)) return;
  if (fs::create_directories(folder, ignored)) {
    fs::permissions(folder, fs::perms::owner_all, ignored);
  }
}

Job job_from(Statement& row) {
  Job job;
  job.id = row.number();
  job.task = row.text();
  job.title = row.text();
  job.request = row.text();
  job.state = job_state_from(row.text()).value_or(JobState::failed);
  job.created_ms = row.number();
  job.updated_ms = row.number();
  job.candidates = row.number();
  job.done = row.number();
  job.evaluated = row.number();
  job.checkpoint = row.text();
  job.best = row.text();
  job.result = row.text();
  job.problem = row.text();
  return job;
}

}  // namespace

struct JobStore::Database {
  std::string path;
  sqlite3* handle = nullptr;

  ~Database() { sqlite3_close(handle); }

  Diagnostics fault(const std::string& what) const {
    const bool held = sqlite3_errcode(handle) == SQLITE_BUSY;
    return {{.code = held ? "serve.state-in-use" : "serve.state",
             .place = {.file = path},
             .what = held ? "another server keeps its jobs in this file" : what,
             .why = handle != nullptr ? sqlite3_errmsg(handle) : "out of memory",
             .fix = "give another file with --state FILE, or keep nothing with --state :memory:"}};
  }

  int format() const {
    Statement version(handle, "PRAGMA user_version");
    return version.step() ? static_cast<int>(version.number()) : -1;
  }

  Result<void> run(Statement& statement, const std::string& what) const {
    statement.step();
    if (statement.failed()) return std::unexpected(fault(what));
    return {};
  }
};

JobStore::JobStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}
JobStore::~JobStore() = default;

Result<std::unique_ptr<JobStore>> JobStore::open(const std::string& path) {
  auto database = std::make_unique<Database>();
  database->path = path;
  if (path != kStoreInMemory) make_folder_of(path);
  if (path != kStoreInMemory) keep_to_owner(path);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &database->handle, flags, nullptr) != SQLITE_OK) {
    return std::unexpected(database->fault("the state file cannot be opened"));
  }
  sqlite3_busy_timeout(database->handle, kBusyMs);
  const int format = database->format();
  if (format < 0) return std::unexpected(database->fault("this is not a state file of Orrery"));
  if (format > kFormat) {
    return fail({.code = "serve.state",
                 .place = {.file = path},
                 .what = "a later version of Orrery wrote this state file",
                 .fix = "give another file with --state FILE"});
  }
  if (sqlite3_exec(database->handle, kSetUp, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return std::unexpected(database->fault("the state file cannot be written"));
  }
  return std::unique_ptr<JobStore>(new JobStore(std::move(database)));
}

Result<std::vector<Job>> JobStore::load() {
  Statement rows(
      database_->handle,
      "SELECT id, task, title, request, state, created_ms, updated_ms, candidates, done, "
      "evaluated, checkpoint, best, result, problem FROM jobs ORDER BY id");
  std::vector<Job> jobs;
  while (rows.step()) jobs.push_back(job_from(rows));
  if (rows.failed()) return std::unexpected(database_->fault("the jobs cannot be read"));
  return jobs;
}

Result<std::int64_t> JobStore::add(const Job& job) {
  Statement row(
      database_->handle,
      "INSERT INTO jobs (task, title, request, state, created_ms, updated_ms, candidates, "
      "done, evaluated, checkpoint, best, result, problem) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(job.task).bind(job.title).bind(job.request).bind(std::string(to_text(job.state)));
  row.bind(job.created_ms).bind(job.updated_ms).bind(job.candidates).bind(job.done);
  row.bind(job.evaluated).bind(job.checkpoint).bind(job.best).bind(job.result).bind(job.problem);
  const auto added = database_->run(row, "the job cannot be stored");
  if (!added) return std::unexpected(added.error());
  return sqlite3_last_insert_rowid(database_->handle);
}

Result<void> JobStore::update(const Job& job) {
  Statement row(database_->handle,
                "UPDATE jobs SET state = ?, updated_ms = ?, candidates = ?, done = ?, "
                "evaluated = ?, checkpoint = ?, best = ?, result = ?, problem = ? WHERE id = ?");
  row.bind(std::string(to_text(job.state))).bind(job.updated_ms).bind(job.candidates);
  row.bind(job.done).bind(job.evaluated).bind(job.checkpoint).bind(job.best).bind(job.result);
  row.bind(job.problem).bind(job.id);
  return database_->run(row, "the job cannot be stored");
}

Result<void> JobStore::remove(std::int64_t id) {
  Statement row(database_->handle, "DELETE FROM jobs WHERE id = ?");
  row.bind(id);
  return database_->run(row, "the job cannot be removed");
}

}  // namespace orrery::server
