#include "server/http_server.h"  // brings <utility>, which Beast 1.74 uses and does not include

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>

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

Request request_from(const http::request<http::string_body>& from) {
  const auto text = [](beast::string_view s) { return std::string(s.data(), s.size()); };
  return {.method = text(from.method_string()),
          .target = text(from.target()),
          .host = text(from[http::field::host]),
          .origin = text(from[http::field::origin]),
          .cookie = text(from[http::field::cookie]),
          .authorization = text(from[http::field::authorization]),
          .body = from.body()};
}

// The page may style itself and nothing more: no script, no frame, no request elsewhere.
void add_safety_headers(http::response<http::string_body>& to) {
  to.set("Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
         "base-uri 'none'; frame-ancestors 'none'");
  to.set("X-Content-Type-Options", "nosniff");
  to.set("Referrer-Policy", "no-referrer");
  to.set("Cache-Control", "no-store");
}

http::response<http::string_body> response_from(Response from, unsigned version, bool keep_alive,
                                                bool head) {
  http::response<http::string_body> to{static_cast<http::status>(from.status), version};
  to.set(http::field::server, "orrery");
  to.set(http::field::content_type, from.content_type);
  for (const auto& [name, value] : from.headers) to.set(name, value);
  add_safety_headers(to);
  to.keep_alive(keep_alive);
  const std::size_t length = from.body.size();
  if (!head) to.body() = std::move(from.body);
  to.content_length(length);
  return to;
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
  std::list<std::weak_ptr<Session>> sessions;  // in the order they came
  bool stopping = false;

  ServerParts(const ServerOptions& o, Handler h)
      : options(o), handler(std::move(h)), pool(static_cast<std::size_t>(o.handler_threads)) {}

  void accept();
  void admit(tcp::socket socket);
  void make_room();
  void watch(const std::function<bool()>& stop);
  void close_waiting();
  void drain(std::chrono::steady_clock::time_point deadline);
};

// One connection: read, handle, write, again. All its members are touched on the I/O thread only.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, ServerParts& server) : stream_(std::move(socket)), server_(server) {}

  void read() {
    waiting_ = true;
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

  bool waiting() const { return waiting_; }

  void close() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.socket().close(ignored);
  }

 private:
  void on_read(const error_code& error) {
    waiting_ = false;
    if (error) {
      if (std::optional<Response> answer = answer_to_fault(error)) {
        write(response_from(std::move(*answer), 11, false, false));
      } else {
        close();
      }
      return;
    }
    auto request = std::make_shared<http::request<http::string_body>>(parser_->release());
    asio::post(server_.pool, [self = shared_from_this(), request] {
      Response answer = self->answer_of(*request);
      const bool head = request->method() == http::verb::head;
      const bool keep = request->keep_alive();
      const unsigned version = request->version();
      auto made = std::make_shared<http::response<http::string_body>>(
          response_from(std::move(answer), version, keep, head));
      asio::post(self->stream_.get_executor(), [self, made] { self->write(std::move(*made)); });
    });
  }

  // A fault in a handler is ours: the client gets 500 and the server goes on.
  Response answer_of(const http::request<http::string_body>& request) const {
    try {
      return server_.handler(request_from(request));
    } catch (const std::exception&) {
      return problem(500, "internal error");
    }
  }

  void write(http::response<http::string_body> response) {
    if (server_.stopping) response.keep_alive(false);
    response_ = std::move(response);
    stream_.expires_after(server_.options.response_time_max);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        if (error) return self->close();
                        if (!self->response_.keep_alive()) return self->close_gently();
                        self->read();
                      });
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
  http::response<http::string_body> response_;
  bool waiting_ = false;
};

void ServerParts::accept() {
  acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || stopping) return;
    if (!error) admit(std::move(socket));
    accept();
  });
}

void ServerParts::admit(tcp::socket socket) {
  std::erase_if(sessions, [](const std::weak_ptr<Session>& s) { return s.expired(); });
  if (sessions.size() >= static_cast<std::size_t>(options.connections_max)) make_room();
  auto session = std::make_shared<Session>(std::move(socket), *this);
  sessions.push_back(session);
  session->read();
}

void ServerParts::make_room() {
  for (auto it = sessions.begin(); it != sessions.end(); ++it) {
    const std::shared_ptr<Session> oldest = it->lock();
    if (!oldest || !oldest->waiting()) continue;
    oldest->close();
    sessions.erase(it);
    return;
  }
}

void ServerParts::close_waiting() {
  for (const std::weak_ptr<Session>& weak : sessions) {
    const std::shared_ptr<Session> session = weak.lock();
    if (session && session->waiting()) session->close();
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
