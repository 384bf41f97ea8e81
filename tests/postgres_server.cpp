#include "postgres_server.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace orrery {
namespace {

const std::string kPrograms = "/usr/lib/postgresql/15/bin/";

}  // namespace

bool PostgresServer::is_installed() { return std::filesystem::exists(kPrograms + "initdb"); }

PostgresServer::PostgresServer(const std::string& folder) : folder_(folder) {
  if (!is_installed()) return;
  std::filesystem::create_directories(folder_);
  if (::geteuid() == 0) {
    // Only its owner can enter a folder that mkdtemp created.
    std::filesystem::permissions(std::filesystem::path(folder_).parent_path(),
                                 std::filesystem::perms::others_exec,
                                 std::filesystem::perm_options::add);
    if (std::system(("chown postgres " + folder_).c_str()) != 0) return;
  }
  runs_ = as_owner(kPrograms + "initdb -D " + folder_ + "/data -N -U postgres -A trust") && start();
}

PostgresServer::~PostgresServer() {
  if (runs_) as_owner(kPrograms + "pg_ctl -D " + folder_ + "/data -m immediate -w stop");
}

std::string PostgresServer::address() const {
  return "postgresql:///postgres?host=" + folder_ + "&user=postgres";
}

bool PostgresServer::dump(const std::string& name) const {
  return as_owner(kPrograms + "pg_dump -h " + folder_ + " -U postgres -f " + folder_ + '/' + name +
                  " postgres");
}

bool PostgresServer::restore(const std::string& name) const {
  const std::string psql = kPrograms + "psql -v ON_ERROR_STOP=1 -q -h " + folder_ + " -U postgres ";
  return as_owner(psql + "-c 'DROP SCHEMA public CASCADE' -c 'CREATE SCHEMA public' postgres") &&
         (name.empty() || as_owner(psql + "-f " + folder_ + '/' + name + " postgres"));
}

bool PostgresServer::start() {
  return as_owner(kPrograms + "pg_ctl -D " + folder_ + "/data -l " + folder_ + "/log -w -o '-k " +
                  folder_ + " -h \"\"' start");
}

bool PostgresServer::crash_and_restart() {
  as_owner(kPrograms + "pg_ctl -D " + folder_ + "/data -m immediate -w stop");
  runs_ = start();
  return runs_;
}

bool PostgresServer::as_owner(const std::string& command) const {
  const std::string prefix =
      ::geteuid() == 0 ? "cd / && setpriv --reuid=postgres --regid=postgres --init-groups " : "";
  return std::system((prefix + command + " > /dev/null 2>&1").c_str()) == 0;
}

}  // namespace orrery
