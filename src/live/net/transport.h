// Shared by the files of the server's transport: the parts of a server, a request in progress, and
// the conversion from Beast's messages. No other file includes this header, because it includes
// Asio and Beast.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/net/server.h"

namespace orrery::net {

using Clock = std::chrono::steady_clock;
// Only one I/O thread uses it, so it needs no strand.
using TcpSocket =
    boost::asio::ip::tcp::socket::rebind_executor<boost::asio::io_context::executor_type>::other;
using HeaderOnly = boost::beast::http::request<boost::beast::http::empty_body>;

// An optional point in time that one thread sets and others read.
class SharedMoment {
 public:
  void set(Clock::time_point at) { at_ = at.time_since_epoch().count(); }
  void clear() { at_ = 0; }
  std::optional<Clock::time_point> get() const {
    const Clock::rep at = at_;
    return at == 0 ? std::nullopt : std::optional(Clock::time_point(Clock::duration(at)));
  }

  bool is_before(Clock::time_point now) const {
    const auto at = get();
    return at && *at < now;
  }

 private:
  std::atomic<Clock::rep> at_ = 0;
};

// Adds to a counter during its own lifetime.
template <class Count>
class Tally {
 public:
  Tally(std::shared_ptr<ServerLoad> load, std::atomic<Count> ServerLoad::* of, Count count = 1)
      : load_(std::move(load)), of_(of), count_(count) {
    *load_.*of_ += count_;
  }
  ~Tally() { *load_.*of_ -= count_; }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

 private:
  std::shared_ptr<ServerLoad> load_;
  std::atomic<Count> ServerLoad::* of_;
  Count count_;
};

// A request on its way through the handlers.
struct Pending {
  Request request;
  unsigned version = 11;
  bool keep_alive = true;
  bool head = false;
  bool go_on = false;                        // the client is waiting for 100 Continue
  bool received = false;                     // the whole body has arrived
  std::optional<std::uint64_t> length = {};  // announced length of the body
  std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
};
Pending pending_of(const HeaderOnly& from, const std::string& peer);

// Returns the refusal of a malformed request, or nullopt if the client has disconnected or sends
// nothing.
struct Refusal {
  int status = 400;
  std::string_view what;
};
std::optional<Refusal> answer_to_fault(const boost::system::error_code& error);

// Feeds the parser the header bytes received and returns how many it consumed; it consumes the
// fields only once the last of them has arrived. `unclear` says why two readers could understand a
// complete header differently: a line that begins with a blank continues the one before it (RFC
// 9112, 5.2), or there is no Host or more than one (3.2; HTTP/1.0 may have none).
std::size_t put_header(boost::beast::http::request_parser<boost::beast::http::empty_body>& parser,
                       const boost::asio::const_buffer& text, boost::system::error_code& error,
                       std::string_view& unclear);

// May be read and closed from any thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void close() = 0;
  // Time since which the server has been waiting for this client; nullopt while the server owes an
  // answer.
  virtual std::optional<Clock::time_point> waiting_since() const = 0;
  virtual bool has_request() const = 0;
  // Returns whether its deadline has passed.
  virtual bool is_late(Clock::time_point now) const = 0;
};

struct ServerParts {
  ServerOptions options;
  Service service;
  std::optional<boost::asio::ssl::context> tls;
  // One per thread that answers in place; connections are distributed over them. If threads shared
  // one queue, they would wake one another for every request. They outlive `io`, which may hold the
  // socket of one for the next connection.
  std::vector<std::unique_ptr<boost::asio::io_context>> lanes;
  boost::asio::io_context io{1};  // accepting, deadlines and the stop, on the thread of run()
  std::size_t next_lane = 0;
  boost::asio::ip::tcp::acceptor acceptor{io};
  boost::asio::thread_pool pool;
  boost::asio::steady_timer stop_timer{io};
  boost::asio::steady_timer accept_timer{io};
  std::list<std::weak_ptr<Connection>> connections;  // in the order of their arrival
  std::atomic<bool> stopping = false;

  ServerParts(const ServerOptions& options, Service service);

  boost::asio::io_context& lane();  // returns the lane for the next connection
  void accept();
  void admit(TcpSocket socket);
  bool make_room();
  void watch(const std::function<bool()>& stop);
  void close_idle();
  void close_late();
  void drain(Clock::time_point deadline);
};

// Makes a connection, over TLS if the server has an identity. Nothing is read before start().
std::shared_ptr<Connection> make_session(TcpSocket socket, ServerParts& server);

}  // namespace orrery::net
