// A request and a response as values, and sources and sinks for bodies that are not held whole.
//
// Handlers turn a request into a response and know nothing of sockets, so each is tested as a
// function call. A body goes one of three ways: as text in the message; from a BodySource, which is
// asked for the next bytes when the other side has taken the last; or into a BodySink, which gets
// the bytes as they arrive. A source or sink may block on a disk but never blocks on the peer: it
// is called only when the bytes have arrived or there is room for them.
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
// Compares without case.
bool is_same_name(std::string_view a, std::string_view b);
// Returns the value of the first header with this name, in any case, or an empty text.
std::string_view header_of(const HeaderList& headers, std::string_view name);

// Copies the bytes at `offset` of the body into `into` and returns their number: 0 at the end,
// nullopt on a failure. Offsets rise without a gap. A client that must send a body again starts at
// 0 again; a source that cannot rewind returns nullopt then.
using BodySource =
    std::function<std::optional<std::size_t>(std::uint64_t offset, std::span<char> into)>;

// Returns a source of these bytes, which must outlive it.
BodySource source_of(std::string_view bytes);

struct Request {
  std::string method = "GET";
  std::string target = "/";  // as sent: path and query, still percent-encoded
  HeaderList headers = {};   // as sent
  std::string body = {};     // empty if it goes into a sink
  std::string peer = {};     // the client's address, without its port
  // True once the client has left: the answer is not needed, so long work may stop.
  std::function<bool()> abandoned = [] { return false; };

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
};

// Returns what an event stream sends next: text, nothing yet (empty), or its end (nullopt). It is
// called a few times a second on the I/O thread, so it must return quickly.
using NextEvents = std::function<std::optional<std::string>()>;

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";  // empty: no such header
  std::string body = {};
  HeaderList headers = {};
  NextEvents events = nullptr;  // instead of a body: server-sent events until they end
  BodySource source = nullptr;  // instead of a body: streamed to its end
  // Length of the source, or of the body that a HEAD leaves out. A source of unknown length is sent
  // in chunks. If a source ends early, the connection is cut, so that the client notices.
  std::optional<std::uint64_t> length = {};
  // Instead of all that, if the answer takes long (a disk, a peer): called once on a handler
  // thread, while the request is kept. What it returns may not be deferred again.
  std::function<Response()> later = nullptr;
};

using Handler = std::function<Response(const Request&)>;

// Takes the body of one request. Calls never overlap, but each may come on another thread. If it is
// destroyed without finish(), the client left, was too slow or sent too much, and what was taken
// must be discarded.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // Returning a response refuses the rest of the body; the connection is closed after it.
  virtual std::optional<Response> take(std::string_view piece) = 0;
  // The body is complete.
  virtual Response finish() = 0;
};

// What to do with the body that a request announces, decided from its header alone: it is held for
// the handler, goes into a sink, or is refused with a response (whose own body is held).
struct GatherBody {};  // into Request::body
using BodyPlan = std::variant<GatherBody, std::unique_ptr<BodySink>, Response>;

// What a server does. `plan` is called for requests with a body, before 100 Continue is sent;
// without it all bodies are held. The request it gets outlives the sink.
struct Service {
  Handler answer;
  std::function<BodyPlan(const Request&)> plan = nullptr;
};

std::string_view path_of(const Request& request);
// Returns the value of a query parameter as sent, or an empty text.
std::string_view query_value(const Request& request, std::string_view name);

}  // namespace orrery::net
