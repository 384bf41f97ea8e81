#include "live/rows/postgres_connections.h"

#include <poll.h>

#include <chrono>

namespace orrery::rows {
namespace {

constexpr std::chrono::seconds kWaitMax{5};  // for a connection in use by other calls

// Settings of every connection: a commit is durable whatever the server's default is, and no
// statement waits for ever.
constexpr const char* kManners =
    "SET synchronous_commit = on; SET statement_timeout = '20s'; SET client_min_messages = error";

drives::Fault fault_of(PGconn* connection, const PGresult* reply) {
  const char* state = reply ? PQresultErrorField(reply, PG_DIAG_SQLSTATE) : nullptr;
  const std::string_view code = state ? state : "";
  std::string what = "metadata: ";
  what += reply ? PQresultErrorMessage(reply) : PQerrorMessage(connection);
  while (what.ends_with('\n')) what.pop_back();
  if (code == "53100") return {drives::PortFault::full, what};
  if (code == "XX001" || code == "XX002") return {drives::PortFault::corrupt, what};
  const bool away = PQstatus(connection) != CONNECTION_OK || code.empty() ||
                    code.starts_with("08") || code.starts_with("53") || code.starts_with("57");
  return {away ? drives::PortFault::busy : drives::PortFault::failed, what};
}

}  // namespace

drives::Outcome<Connection> connect(const std::string& where) {
  // Settings in `where` come later in the list and therefore take precedence.
  const char* names[] = {"connect_timeout",
                         "keepalives_idle",
                         "keepalives_count",
                         "tcp_user_timeout",
                         "fallback_application_name",
                         "dbname",
                         nullptr};
  const char* values[] = {"5", "5", "3", "10000", "orrery store", where.c_str(), nullptr};
  Connection made(PQconnectdbParams(names, values, 1));
  if (!made || PQstatus(made.get()) != CONNECTION_OK) {
    std::string what = made ? PQerrorMessage(made.get()) : "out of memory";
    while (what.ends_with('\n')) what.pop_back();
    return drives::fault(drives::PortFault::busy, "metadata: " + what);
  }
  if (auto told = tell(made.get(), kManners); !told) return std::unexpected(told.error());
  return made;
}

bool is_usable(PGconn* connection) {
  if (PQstatus(connection) != CONNECTION_OK || PQtransactionStatus(connection) != PQTRANS_IDLE) {
    return false;
  }
  pollfd wait{.fd = PQsocket(connection), .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, 0) == 0;
}

drives::Outcome<Reply> ask(PGconn* connection, const char* statement,
                           const std::vector<Parameter>& parameters) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Parameter& parameter : parameters) {
    values.push_back(parameter.value ? parameter.value->data() : nullptr);
    lengths.push_back(parameter.value ? static_cast<int>(parameter.value->size()) : 0);
    formats.push_back(parameter.binary ? 1 : 0);
  }
  Reply reply(PQexecParams(connection, statement, static_cast<int>(values.size()), nullptr,
                           values.data(), lengths.data(), formats.data(), 1));
  if (!reply || PQresultStatus(reply.get()) != PGRES_TUPLES_OK) {
    return std::unexpected(fault_of(connection, reply.get()));
  }
  return reply;
}

drives::Outcome<void> tell(PGconn* connection, const std::string& commands) {
  const Reply reply(PQexec(connection, commands.c_str()));
  const ExecStatusType status = PQresultStatus(reply.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return {};
  return std::unexpected(fault_of(connection, reply.get()));
}

drives::Outcome<ConnectionPool::Lent> ConnectionPool::lend() {
  {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, kWaitMax, [&] { return lent_ < most_; })) {
      return drives::fault(drives::PortFault::busy,
                           "all connections to the metadata database are in use");
    }
    ++lent_;
    while (!idle_.empty()) {
      Connection found = std::move(idle_.back());
      idle_.pop_back();
      if (is_usable(found.get())) return Lent(*this, std::move(found));
    }
  }
  auto made = connect(where_);
  if (made) return Lent(*this, std::move(*made));
  give_back(nullptr);
  return std::unexpected(made.error());
}

void ConnectionPool::give_back(Connection connection) {
  {
    const std::scoped_lock lock(mutex_);
    --lent_;
    if (connection && is_usable(connection.get())) idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

}  // namespace orrery::rows
