// A PostgreSQL server for one test: a cluster in a folder, on a socket there without a port,
// removed after the test. If the server is not installed, the calling test is skipped.
//
// The server refuses to run as root, so a test that runs as root hands it to the user `postgres`.
#pragma once

#include <string>

namespace orrery {

class PostgresServer {
 public:
  explicit PostgresServer(const std::string& folder);
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  static bool is_installed();
  bool runs() const { return runs_; }
  std::string address() const;  // in the form that libpq takes
  // Ends the server as a crash does, and starts it again.
  bool crash_and_restart();
  // Writes the database to a file below the folder, as an operator backs it up.
  bool dump(const std::string& name) const;
  // Leaves nothing in the database, or with a name what was dumped under it.
  bool restore(const std::string& name = {}) const;

 private:
  bool as_owner(const std::string& command) const;
  bool start();

  std::string folder_;
  bool runs_ = false;
};

}  // namespace orrery
