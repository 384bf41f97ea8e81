// What the files of the server's transport share: the parts of a server, a request on its way, and
// the turning of Beast's messages into ours. No other file includes it; it brings Asio and Beast.
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
// Of one thread that does I/O, so it needs no strand.
using TcpSocket =
    boost::asio::ip::tcp::socket::rebind_executor<boost::asio::io_context::executor_type>::other;
using HeaderOnly = boost::beast::http::request<boost::beast::http::empty_body>;

// A moment, or none, that one thread sets and others ask.
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

// More of something for as long as it lives.
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

// A request on its way through the handlers, on whichever thread that is.
struct Pending {
  Request request;
  unsigned version = 11;
  bool keep_alive = true;
  bool head = false;
  bool go_on = false;                        // the client waits for a word before it sends its body
  bool received = false;                     // to its last byte
  std::optional<std::uint64_t> length = {};  // of the body, as announced
  std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
};
Pending pending_of(const HeaderOnly& from, const std::string& peer);

// What a request that never became one gets; nullopt where the client is gone or silent.
struct Refusal {
  int status = 400;
  std::string_view what;
};
std::optional<Refusal> answer_to_fault(const boost::system::error_code& error);

// Shows the parser what has come of a header and returns how many bytes it took: none of the fields
// before the last of them is there. `unclear` says why two readers could take a header that is
// whole for two different ones: a line that begins with a blank continues the one before it (RFC
// 9112, 5.2), no or several Hosts (3.2; HTTP/1.0 may have none).
std::size_t put_header(boost::beast::http::request_parser<boost::beast::http::empty_body>& parser,
                       const boost::asio::const_buffer& text, boost::system::error_code& error,
                       std::string_view& unclear);

// Asked and closed from any thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  virtual void close() = 0;
  // Since when this client owes us something; nullopt while we owe it an answer.
  virtual std::optional<Clock::time_point> waiting_since() const = 0;
  virtual bool has_request() const = 0;
  // What it was given time for is not done.
  virtual bool is_late(Clock::time_point now) const = 0;
};

struct ServerParts {
  ServerOptions options;
  Service service;
  std::optional<boost::asio::ssl::context> tls;
  // Where answers are made in place: a thread each, and the connections are dealt out to them.
  // Threads that share one queue wake one another for every request. They outlive `io`, which may
  // hold a socket of one for whoever comes next.
  std::vector<std::unique_ptr<boost::asio::io_context>> lanes;
  boost::asio::io_context io{1};  // the server's own affairs, on the thread of run()
  std::size_t next_lane = 0;
  boost::asio::ip::tcp::acceptor acceptor{io};
  boost::asio::thread_pool pool;
  boost::asio::steady_timer stop_timer{io};
  boost::asio::steady_timer accept_timer{io};
  std::list<std::weak_ptr<Connection>> connections;  // in the order they came
  std::atomic<bool> stopping = false;

  ServerParts(const ServerOptions& options, Service service);

  boost::asio::io_context& lane();  // of the next connection
  void accept();
  void admit(TcpSocket socket);
  bool make_room();
  void watch(const std::function<bool()>& stop);
  void close_idle();
  void close_late();
  void drain(Clock::time_point deadline);
};

// A connection over TLS where the server has an identity; nothing is read before start().
std::shared_ptr<Connection> make_session(TcpSocket socket, ServerParts& server);

}  // namespace orrery::net
