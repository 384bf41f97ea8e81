// Jobs on disk: a SQLite file that one server holds at a time.
//
// Every change is one transaction in write-ahead mode, so a killed server leaves the last
// checkpoint of each job; only a power failure may lose the last moments. The store is slow (a
// file) and small (JobBoard limits its size): the board reads it once and writes through.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/server/job.h"
#include "core/base/diagnostic.h"

namespace orrery::server {

// Name of a store without a file: its jobs are lost when the server stops.
inline constexpr const char* kStoreInMemory = ":memory:";

class JobStore {
 public:
  // Opens the store. Fails with "serve.state-in-use" if another server holds the file, or
  // "serve.state" if it cannot be created, is not a state file or was written by a later Orrery.
  static Result<std::unique_ptr<JobStore>> open(const std::string& path);
  ~JobStore();

  Result<std::vector<Job>> load();           // ordered by id
  Result<std::int64_t> add(const Job& job);  // returns the id of the job
  Result<void> update(const Job& job);
  Result<void> remove(std::int64_t id);

 private:
  struct Database;
  explicit JobStore(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace orrery::server
