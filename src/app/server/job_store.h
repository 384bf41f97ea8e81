// Jobs on disk: a SQLite file that one server holds at a time.
//
// Every change is one transaction in write-ahead mode, so a server that is killed leaves the last
// checkpoint of each job behind; only a power cut may take the last moments too. The store is slow
// (a file) and small (JobBoard bounds what it holds): the board reads it once and writes through.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/server/job.h"
#include "core/base/diagnostic.h"

namespace orrery::server {

// The file that is no file: everything is lost with the server.
inline constexpr const char* kStoreInMemory = ":memory:";

class JobStore {
 public:
  // "serve.state-in-use" where another server holds the file, "serve.state" where it cannot be
  // made, is no state file or was written by a later Orrery.
  static Result<std::unique_ptr<JobStore>> open(const std::string& path);
  ~JobStore();

  Result<std::vector<Job>> load();           // by id
  Result<std::int64_t> add(const Job& job);  // the id it got
  Result<void> update(const Job& job);
  Result<void> remove(std::int64_t id);

 private:
  struct Database;
  explicit JobStore(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace orrery::server
