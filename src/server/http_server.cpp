#include "server/http_server.h"  // brings <utility>, which Beast 1.74 uses and does not include

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>
#include <sstream>

#include "server/problem.h"

namespace orrery {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kStopCheck{100};
constexpr std::chrono::milliseconds kDrainCheck{10};
constexpr std::chrono::seconds kLastAnswers{2};
constexpr std::chrono::seconds kLinger{1};
constexpr std::size_t kSwallowBytes = 64u << 10;
constexpr std::size_t kFirstBytes = 4u << 10;
// A stream with nothing to say says so now and then, or a client behind a proxy gives up on it.
constexpr std::chrono::seconds kHeartbeat{15};
// A response that does not say otherwise may do nothing in a browser but style itself.
constexpr const char* kNoScript =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";

using ServerRequest = http::request<http::string_body>;
using ServerResponse = http::response<http::string_body>;

// One more of something for as long as it lives.
class Tally {
 public:
  Tally(std::shared_ptr<ServerLoad> load, std::atomic<int> ServerLoad::* of)
      : load_(std::move(load)), of_(of) {
    ++(*load_.*of_);
  }
  ~Tally() { --(*load_.*of_); }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

 private:
  std::shared_ptr<ServerLoad> load_;
  std::atomic<int> ServerLoad::* of_;
};

// A request on its way through the handlers, on whichever thread that is.
struct Pending {
  Pending(ServerRequest r, std::shared_ptr<ServerLoad> load)
      : request(std::move(r)), tally(std::move(load), &ServerLoad::requests) {}

  ServerRequest request;
  std::atomic<bool> abandoned = false;
  Tally tally;
};

Request request_from(const std::shared_ptr<Pending>& pending) {
  const ServerRequest& from = pending->request;
  const auto text = [](beast::string_view s) { return std::string(s.data(), s.size()); };
  return {.method = text(from.method_string()),
          .target = text(from.target()),
          .host = text(from[http::field::host]),
          .origin = text(from[http::field::origin]),
          .cookie = text(from[http::field::cookie]),
          .authorization = text(from[http::field::authorization]),
          .accept_encoding = text(from[http::field::accept_encoding]),
          .body = from.body(),
          .abandoned = [pending] { return pending->abandoned.load(); }};
}

ServerResponse response_from(Response from, unsigned version, bool keep_alive, bool head) {
  ServerResponse to{static_cast<http::status>(from.status), version};
  to.set(http::field::server, "orrery");
  to.set(http::field::content_type, from.content_type);
  to.set("Content-Security-Policy", kNoScript);
  to.set("Cache-Control", "no-store");
  for (const auto& [name, value] : from.headers) to.set(name, value);
  to.set("X-Content-Type-Options", "nosniff");
  to.set("Referrer-Policy", "no-referrer");
  to.set("Cross-Origin-Resource-Policy", "same-origin");
  to.keep_alive(keep_alive);
  if (from.events) return to;
  const std::size_t length = from.body.size();
  if (!head) to.body() = std::move(from.body);
  to.content_length(length);
  return to;
}

Response busy(std::string_view what) {
  Response response = problem(503, what);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

// What a request that never became one gets; nullopt where the client is gone or silent.
std::optional<Response> answer_to_fault(const error_code& error) {
  if (error == http::error::body_limit) return problem(413, "the body is too large");
  if (error == http::error::header_limit) return problem(431, "the header is too large");
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    return problem(400, "this is not HTTP");
  }
  return std::nullopt;
}

}  // namespace

class Session;

struct ServerParts {
  ServerOptions options;
  Handler handler;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::thread_pool pool;
  asio::steady_timer stop_timer{io};
  asio::steady_timer accept_timer{io};
  std::list<std::weak_ptr<Session>> sessions;  // in the order they came
  bool stopping = false;

  ServerParts(const ServerOptions& o, Handler h)
      : options(o), handler(std::move(h)), pool(static_cast<std::size_t>(o.handler_threads)) {}

  void accept();
  void admit(tcp::socket socket);
  bool make_room();
  void watch(const std::function<bool()>& stop);
  void close_waiting();
  void drain(std::chrono::steady_clock::time_point deadline);
};

// One connection: read, handle, write, again. All its members are touched on the I/O thread only.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, ServerParts& server)
      : stream_(std::move(socket)),
        server_(server),
        timer_(server.io),
        tally_(server.options.load, &ServerLoad::connections) {}

  // The first byte of a request may take as long as `limit`; from then on its own deadline counts.
  void wait_for_request(std::chrono::milliseconds limit) {
    waiting_since_ = std::chrono::steady_clock::now();
    if (buffer_.size() > 0) return read();
    stream_.expires_after(limit);
    stream_.async_read_some(buffer_.prepare(kFirstBytes),
                            [self = shared_from_this()](const error_code& error, std::size_t got) {
                              if (error) return self->close();
                              self->buffer_.commit(got);
                              self->read();
                            });
  }

  // Since when this client owes us a request; nullopt while we owe it an answer.
  std::optional<std::chrono::steady_clock::time_point> waiting_since() const {
    return waiting_since_;
  }

  void close() {
    error_code ignored;
    waiting_since_.reset();
    events_tally_.reset();
    timer_.cancel();
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
  }

 private:
  void read() {
    parser_.emplace();
    parser_->header_limit(server_.options.header_bytes_max);
    parser_->body_limit(server_.options.body_bytes_max);
    // One deadline for the whole request: a byte now and then does not extend it.
    stream_.expires_after(server_.options.request_time_max);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       self->on_read(error);
                     });
  }

  void on_read(const error_code& error) {
    waiting_since_.reset();
    if (error) return on_fault(error);
    const ServerOptions& options = server_.options;
    pending_ = std::make_shared<Pending>(parser_->release(), options.load);
    if (options.load->requests > options.requests_max) {
      return write(response_to(*pending_, busy("too many requests are waiting")));
    }
    stream_.expires_never();  // the answer takes what it takes; writing it has a limit again
    watch_for_departure();
    asio::post(server_.pool, [self = shared_from_this(), pending = pending_] {
      if (pending->abandoned) return self->drop();
      auto answer = std::make_shared<Response>(self->answer_to(pending));
      asio::post(self->stream_.get_executor(),
                 [self, pending, answer] { self->on_answer(*pending, std::move(*answer)); });
    });
  }

  void on_fault(const error_code& error) {
    std::optional<Response> answer = answer_to_fault(error);
    if (!answer) return close();
    ++server_.options.load->malformed;
    write(response_from(std::move(*answer), 11, false, false));
  }

  static ServerResponse response_to(const Pending& pending, Response answer) {
    const ServerRequest& request = pending.request;
    return response_from(std::move(answer), request.version(), request.keep_alive(),
                         request.method() == http::verb::head);
  }

  // A fault in a handler is ours: the client gets 500 and the server goes on.
  Response answer_to(const std::shared_ptr<Pending>& pending) const {
    try {
      return server_.handler(request_from(pending));
    } catch (const std::exception&) {
      return problem(500, "internal error");
    }
  }

  // From a handler's thread: nobody waits for this answer.
  void drop() {
    ++server_.options.load->abandoned;
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->close(); });
  }

  void on_answer(const Pending& pending, Response answer) {
    if (!answer.events) {
      pending_.reset();
      return write(response_to(pending, std::move(answer)));
    }
    if (server_.options.load->streams >= server_.options.streams_max) {
      return write(response_to(pending, busy("too many streams of events are open")));
    }
    start_events(std::move(answer));
  }

  // While the answer is made, the only thing a client can tell us is that it has gone.
  void watch_for_departure() {
    if (watching_) return;
    watching_ = true;
    stream_.socket().async_wait(tcp::socket::wait_read,
                                [self = shared_from_this()](const error_code& error) {
                                  self->watching_ = false;
                                  if (!error && self->pending_) self->look_for_departure();
                                });
  }

  void look_for_departure() {
    char byte = 0;
    const auto got = ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return;  // its next request, already on the way
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return watch_for_departure();
    pending_->abandoned = true;
  }

  void write(ServerResponse response) {
    if (server_.stopping) response.keep_alive(false);
    response_ = std::move(response);
    stream_.expires_after(server_.options.response_time_max);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->close();
                        if (!self->response_.keep_alive()) return self->close_gently();
                        self->pending_.reset();
                        self->wait_for_request(self->server_.options.idle_time_max);
                      });
  }

  // The length of a stream is not known before, so it ends with the connection.
  void start_events(Response answer) {
    events_tally_.emplace(server_.options.load, &ServerLoad::streams);
    events_ = std::move(answer.events);
    answer.events = events_;
    std::ostringstream head;
    head << response_from(std::move(answer), 11, false, false).base();
    send_events(head.str());
  }

  void send_events(std::string text) {
    silent_since_ = std::chrono::steady_clock::now();
    events_text_ = std::move(text);
    stream_.expires_after(server_.options.response_time_max);
    asio::async_write(stream_, asio::buffer(events_text_),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->close();
                        self->stream_.expires_never();
                        self->next_events();
                      });
  }

  void next_events() {
    timer_.expires_after(server_.options.event_period);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (error || self->server_.stopping || self->pending_->abandoned) return self->close();
      std::optional<std::string> text = self->events_();
      if (!text) return self->end_events();
      const auto now = std::chrono::steady_clock::now();
      if (text->empty() && now - self->silent_since_ >= kHeartbeat) text = ":\n\n";
      if (text->empty()) return self->next_events();
      self->send_events(std::move(*text));
    });
  }

  void end_events() {
    events_tally_.reset();
    close_gently();
  }

  // Closing at once while the client still sends would reset the connection and lose the answer
  // on its way: say we are done, and swallow what comes until it stops or a moment has passed.
  void close_gently() {
    error_code error;
    stream_.socket().shutdown(tcp::socket::shutdown_send, error);
    if (error) return close();
    stream_.expires_after(kLinger);
    swallow();
  }

  void swallow() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kSwallowBytes),
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (error) return self->close();
                              self->swallow();
                            });
  }

  beast::tcp_stream stream_;
  ServerParts& server_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  ServerResponse response_;
  std::shared_ptr<Pending> pending_;  // the request that is being answered
  std::optional<std::chrono::steady_clock::time_point> waiting_since_;
  bool watching_ = false;
  asio::steady_timer timer_;
  NextEvents events_;
  std::string events_text_;
  std::chrono::steady_clock::time_point silent_since_;
  std::optional<Tally> events_tally_;
  Tally tally_;
};

void ServerParts::accept() {
  acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || stopping) return;
    if (!error) {
      admit(std::move(socket));
      return accept();
    }
    // Out of descriptors, most likely: asking again at once would spin until one is free.
    accept_timer.expires_after(kStopCheck);
    accept_timer.async_wait([this](const error_code&) { accept(); });
  });
}

void ServerParts::admit(tcp::socket socket) {
  std::erase_if(sessions, [](const std::weak_ptr<Session>& s) { return s.expired(); });
  const bool full = sessions.size() >= static_cast<std::size_t>(options.connections_max);
  if (full && !make_room()) return;  // all are being answered: the newcomer is turned away
  auto session = std::make_shared<Session>(std::move(socket), *this);
  sessions.push_back(session);
  session->wait_for_request(options.request_time_max);
}

bool ServerParts::make_room() {
  std::shared_ptr<Session> longest;
  for (const std::weak_ptr<Session>& weak : sessions) {
    std::shared_ptr<Session> session = weak.lock();
    if (!session || !session->waiting_since()) continue;
    if (!longest || *session->waiting_since() < *longest->waiting_since()) longest = session;
  }
  if (longest) longest->close();
  return longest != nullptr;
}

void ServerParts::close_waiting() {
  for (const std::weak_ptr<Session>& weak : sessions) {
    const std::shared_ptr<Session> session = weak.lock();
    if (session && session->waiting_since()) session->close();
  }
}

void ServerParts::drain(std::chrono::steady_clock::time_point deadline) {
  std::erase_if(sessions, [](const std::weak_ptr<Session>& s) { return s.expired(); });
  if (sessions.empty() || std::chrono::steady_clock::now() >= deadline) return io.stop();
  stop_timer.expires_after(kDrainCheck);
  stop_timer.async_wait([this, deadline](const error_code&) { drain(deadline); });
}

void ServerParts::watch(const std::function<bool()>& stop) {
  stop_timer.expires_after(kStopCheck);
  stop_timer.async_wait([this, &stop](const error_code&) {
    if (!stop()) return watch(stop);
    stopping = true;
    error_code ignored;
    acceptor.close(ignored);
    close_waiting();
    drain(std::chrono::steady_clock::now() + kLastAnswers);
  });
}

HttpServer::HttpServer(std::unique_ptr<ServerParts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() { parts_->pool.join(); }

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const ServerOptions& options,
                                                       Handler handler) {
  auto parts = std::make_unique<ServerParts>(options, std::move(handler));
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(),
                               static_cast<unsigned short>(options.port));
  error_code error;
  parts->acceptor.open(endpoint.protocol(), error);
  if (!error) parts->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) parts->acceptor.bind(endpoint, error);
  if (!error) parts->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return fail({.code = "serve.port",
                 .place = {},
                 .what = "cannot listen on 127.0.0.1:" + std::to_string(options.port) + ": " +
                         error.message(),
                 .why = {},
                 .fix = "choose another port, or 0 for a free one"});
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

void HttpServer::run(const std::function<bool()>& stop) {
  parts_->accept();
  parts_->watch(stop);
  parts_->io.run();
}

}  // namespace orrery
