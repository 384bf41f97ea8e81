// A PostgreSQL of a test's own: a cluster in a folder, on a socket there and no port, gone with the
// test. Skips its caller where the server is not installed.
//
// It does not run as root, so a test that does hands it to the user `postgres`.
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
  std::string address() const;  // as libpq takes it
  // Ends it as a crash does, and starts it again.
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
