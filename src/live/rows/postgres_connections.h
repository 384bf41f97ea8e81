// A small pool of connections to PostgreSQL, made on demand and reused.
//
// A lost connection is detected before it is lent again, so a restart of the database fails only
// the calls that were in progress.
#pragma once

#include <libpq-fe.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/drives/fault.h"

namespace orrery::rows {

struct ConnectionEnd {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Connection = std::unique_ptr<PGconn, ConnectionEnd>;
struct ReplyEnd {
  void operator()(PGresult* reply) const { PQclear(reply); }
};
using Reply = std::unique_ptr<PGresult, ReplyEnd>;

// A parameter of a statement: raw bytes or text; nullopt is NULL.
struct Parameter {
  std::optional<std::string_view> value;
  bool binary = false;
};

drives::Outcome<Connection> connect(const std::string& where);
// Returns true if an idle connection can be used: it is open and has no unread input.
bool is_usable(PGconn* connection);
// The rows of the reply are in binary form.
drives::Outcome<Reply> ask(PGconn* connection, const char* statement,
                           const std::vector<Parameter>& parameters);
drives::Outcome<void> tell(PGconn* connection, const std::string& commands);

class ConnectionPool {
 public:
  ConnectionPool(std::string where, std::size_t most) : where_(std::move(where)), most_(most) {}

  // Lends a connection until this object is destroyed; a good connection then returns to the pool.
  class Lent {
   public:
    Lent(ConnectionPool& pool, Connection connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    ~Lent() {
      if (pool_) pool_->give_back(std::move(connection_));
    }
    Lent(Lent&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), connection_(std::move(other.connection_)) {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    Lent& operator=(Lent&&) = delete;
    PGconn* get() const { return connection_.get(); }

   private:
    ConnectionPool* pool_;
    Connection connection_;
  };
  drives::Outcome<Lent> lend();

 private:
  void give_back(Connection connection);

  std::string where_;
  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Connection> idle_;
  std::size_t lent_ = 0;
};

}  // namespace orrery::rows
