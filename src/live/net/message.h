// A request and a response as values, and sources and sinks for bodies that are not held in memory
// as a whole.
//
// Handlers turn a request into a response and do not use sockets, so each can be tested as a
// function call. A body is passed in one of three ways: as text in the message; from a BodySource,
// which is asked for the next bytes when the peer has taken the previous ones; or into a BodySink,
// which receives the bytes as they arrive. A source or sink may block on a disk but never blocks on
// the peer: it is called only when bytes have arrived or there is room for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace orrery::net {

using HeaderList = std::vector<std::pair<std::string, std::string>>;
// Compares names without regard to case.
bool is_same_name(std::string_view a, std::string_view b);
// Returns the value of the first header with this name, ignoring case, or an empty text.
std::string_view header_of(const HeaderList& headers, std::string_view name);

// Copies the bytes at `offset` of the body into `into` and returns their number: 0 at the end,
// nullopt on failure. Offsets increase without gaps. When a client must send a body again, it
// starts again at 0; a source that cannot rewind then returns nullopt.
using BodySource =
    std::function<std::optional<std::size_t>(std::uint64_t offset, std::span<char> into)>;

// Returns a source of these bytes. They must outlive it.
BodySource source_of(std::string_view bytes);

struct Request {
  std::string method = "GET";
  std::string target = "/";  // as sent: path and query, still percent-encoded
  HeaderList headers = {};   // as sent
  std::string body = {};     // empty if the body goes into a sink
  std::string peer = {};     // the client's address, without its port
  // Returns true once the client has disconnected. Long work may stop then.
  std::function<bool()> abandoned = [] { return false; };

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
};

// Returns what an event stream sends next: text, an empty text (nothing yet), or nullopt (the end).
// It is called a few times per second on the I/O thread, so it must return quickly.
using NextEvents = std::function<std::optional<std::string>()>;

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";  // empty: the header is not sent
  std::string body = {};
  HeaderList headers = {};
  NextEvents events = nullptr;  // used instead of a body: server-sent events until they end
  BodySource source = nullptr;  // used instead of a body: streamed to its end
  // Length of the source, or of the body that a HEAD leaves out. A source of unknown length is sent
  // in chunks. If a source ends early, the connection is closed, so that the client notices.
  std::optional<std::uint64_t> length = {};
  // Used instead of all of the above if the answer takes long (a disk, a peer): called once on a
  // handler thread while the request is kept. The response that it returns must not be deferred
  // again.
  std::function<Response()> later = nullptr;
};

using Handler = std::function<Response(const Request&)>;

// Receives the body of one request. Calls never overlap, but each may come from a different thread.
// If the sink is destroyed without finish(), the client disconnected, was too slow or sent too
// much; the bytes taken so far must then be discarded.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // Returning a response refuses the rest of the body; the connection is then closed.
  virtual std::optional<Response> take(std::string_view piece) = 0;
  // Called when the body is complete.
  virtual Response finish() = 0;
};

// What to do with the body that a request announces. The plan is made from the header alone: hold
// the body in memory for the handler, pass it to a sink, or refuse it with a response (whose own
// body is held).
struct GatherBody {};  // collected in Request::body
using BodyPlan = std::variant<GatherBody, std::unique_ptr<BodySink>, Response>;

// What a server does. `plan` is called for requests with a body, before 100 Continue is sent.
// Without a `plan` all bodies are held in memory. The request that `plan` receives outlives the
// sink.
struct Service {
  Handler answer;
  std::function<BodyPlan(const Request&)> plan = nullptr;
};

std::string_view path_of(const Request& request);
// Returns the value of a query parameter, still encoded, or an empty text.
std::string_view query_value(const Request& request, std::string_view name);

}  // namespace orrery::net
