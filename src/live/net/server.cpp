#include "live/net/server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <thread>

#include "live/net/open_files.h"
#include "live/net/transport.h"

namespace orrery::net {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kStopCheck{100};
constexpr std::chrono::milliseconds kDrainCheck{10};

Response plain_refusal(int status, std::string_view what) {
  return {.status = status, .body = std::string(what) + '\n'};
}

std::unexpected<Diagnostics> cannot_listen(const ServerOptions& options, const error_code& error) {
  return fail({.code = "serve.port",
               .place = {},
               .what = "cannot listen on " + options.address + ":" + std::to_string(options.port) +
                       ": " + error.message(),
               .why = {},
               .fix = "choose another port, or 0 to use any free port"});
}

// Limits the answers made in place to what the machine can compute at the same time.
int places(const ServerOptions& options) {
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::min(options.handler_threads, cores);
}

Result<asio::ssl::context> tls_context(const TlsIdentity& identity) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  error_code error;
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                          asio::ssl::context::no_tlsv1_1,
                      error);
  if (!error) context.use_certificate_chain(asio::buffer(identity.certificate), error);
  if (!error) {
    context.use_private_key(asio::buffer(identity.key), asio::ssl::context::pem, error);
  }
  if (!error) return context;
  return fail({.code = "serve.tls",
               .place = {},
               .what = "the certificate and its key cannot be used: " + error.message(),
               .why = "both must be PEM files, and the key must belong to the certificate",
               .fix = "check both files with `openssl x509` and `openssl pkey`"});
}

}  // namespace

ServerParts::ServerParts(const ServerOptions& o, Service s)
    : options(o), service(std::move(s)), pool(static_cast<std::size_t>(o.handler_threads)) {
  if (!options.refusal) options.refusal = plain_refusal;
  const int count = o.answers_in_place ? places(o) : 0;
  for (int i = 0; i < count; ++i) lanes.push_back(std::make_unique<asio::io_context>(1));
}

asio::io_context& ServerParts::lane() {
  return lanes.empty() ? io : *lanes[next_lane++ % lanes.size()];
}

void ServerParts::accept() {
  acceptor.async_accept(lane(), [this](const error_code& error, TcpSocket socket) {
    if (error == asio::error::operation_aborted || stopping) return;
    if (!error) {
      admit(std::move(socket));
      return accept();
    }
    // Most likely the process has no free descriptors; retrying at once would spin until one is
    // free.
    accept_timer.expires_after(kStopCheck);
    accept_timer.async_wait([this](const error_code&) { accept(); });
  });
}

void ServerParts::admit(TcpSocket socket) {
  std::erase_if(connections, [](const std::weak_ptr<Connection>& c) { return c.expired(); });
  const bool full = connections.size() >= static_cast<std::size_t>(options.connections_max);
  if (full && !make_room())
    return;  // if every connection is being answered, the new one is
             // refused
  const std::shared_ptr<Connection> session = make_session(std::move(socket), *this);
  connections.push_back(session);
  session->start();
}

bool ServerParts::make_room() {
  std::shared_ptr<Connection> longest;
  for (const std::weak_ptr<Connection>& weak : connections) {
    std::shared_ptr<Connection> connection = weak.lock();
    if (!connection || !connection->waiting_since()) continue;
    if (!longest || *connection->waiting_since() < *longest->waiting_since()) {
      longest = std::move(connection);
    }
  }
  if (longest) longest->close();
  return longest != nullptr;
}

void ServerParts::close_idle() {
  for (const std::weak_ptr<Connection>& weak : connections) {
    const std::shared_ptr<Connection> connection = weak.lock();
    if (connection && connection->waiting_since() && !connection->has_request()) {
      connection->close();
    }
  }
}

void ServerParts::close_late() {
  const Clock::time_point now = Clock::now();
  for (const std::weak_ptr<Connection>& weak : connections) {
    const std::shared_ptr<Connection> connection = weak.lock();
    if (connection && connection->is_late(now)) connection->close();
  }
}

void ServerParts::drain(Clock::time_point deadline) {
  close_late();
  std::erase_if(connections, [](const std::weak_ptr<Connection>& c) { return c.expired(); });
  if (connections.empty() || Clock::now() >= deadline) return io.stop();
  stop_timer.expires_after(kDrainCheck);
  stop_timer.async_wait([this, deadline](const error_code&) { drain(deadline); });
}

void ServerParts::watch(const std::function<bool()>& stop) {
  stop_timer.expires_after(kStopCheck);
  stop_timer.async_wait([this, &stop](const error_code&) {
    close_late();
    if (!stop()) return watch(stop);
    stopping = true;
    error_code ignored;
    acceptor.close(ignored);
    close_idle();
    drain(Clock::now() + options.drain_time_max);
  });
}

Server::Server(std::unique_ptr<ServerParts> parts) : parts_(std::move(parts)) {}

Server::~Server() { parts_->pool.join(); }

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, Handler handler) {
  return listen(options, Service{.answer = std::move(handler)});
}

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, Service service) {
  ServerOptions fitted = options;
  fitted.connections_max = connections_that_fit(options.connections_max);
  auto parts = std::make_unique<ServerParts>(fitted, std::move(service));
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return cannot_listen(options, error);
  const tcp::endpoint endpoint(address, static_cast<unsigned short>(options.port));
  parts->acceptor.open(endpoint.protocol(), error);
  if (!error) parts->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) parts->acceptor.bind(endpoint, error);
  if (!error) parts->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(options, error);
  if (options.tls) {
    auto context = tls_context(*options.tls);
    if (!context) return std::unexpected(std::move(context.error()));
    parts->tls.emplace(std::move(*context));
  }
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

int Server::port() const { return parts_->acceptor.local_endpoint().port(); }

void Server::run(const std::function<bool()>& stop) {
  parts_->accept();
  parts_->watch(stop);
  std::vector<std::jthread> others;
  for (const auto& lane : parts_->lanes) {
    others.emplace_back([&lane, work = asio::make_work_guard(*lane)] { lane->run(); });
  }
  parts_->io.run();
  for (const auto& lane : parts_->lanes) lane->stop();
}

}  // namespace orrery::net
