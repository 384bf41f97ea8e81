// A request and a response as values, and the shapes that a body takes when it is not held whole.
//
// Handlers turn a request into a response and know nothing of sockets, so each is tested as a
// function call. A body goes one of three ways: as text in the message; from a BodySource, which is
// asked for the next bytes whenever the other side has taken the last; or into a BodySink, which is
// handed the bytes as they come. Whoever implements a source or a sink may block on a disk, never
// on the peer: no call is made before its bytes are there or there is room for them.
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
// Whatever their case.
bool is_same_name(std::string_view a, std::string_view b);
// The first header of that name, whatever its case; empty where there is none.
std::string_view header_of(const HeaderList& headers, std::string_view name);

// Puts the bytes at `offset` of the body into `into` and says how many: none at the end, nullopt
// where they cannot be had. Offsets rise without a gap; a client that must send a body again begins
// again at 0, and a source that cannot go back says nullopt then.
using BodySource =
    std::function<std::optional<std::size_t>(std::uint64_t offset, std::span<char> into)>;

// Of bytes that are held by another and outlive it.
BodySource source_of(std::string_view bytes);

struct Request {
  std::string method = "GET";
  std::string target = "/";  // as sent: path and query, still percent-encoded
  HeaderList headers = {};   // as sent
  std::string body = {};     // empty where it goes into a sink
  std::string peer = {};     // the client's address, without its port
  // True once the client has gone: nobody waits for the answer, so long work may stop.
  std::function<bool()> abandoned = [] { return false; };

  std::string_view header(std::string_view name) const { return header_of(headers, name); }
};

// What a stream sends next: text, nothing for now (empty), or its end (nullopt). It is asked a few
// times a second on the thread of the sockets, so it must not take long.
using NextEvents = std::function<std::optional<std::string>()>;

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";  // empty: no such header
  std::string body = {};
  HeaderList headers = {};
  NextEvents events = nullptr;  // instead of a body: server-sent events until they end
  BodySource source = nullptr;  // instead of a body: as many bytes as it gives
  // Of what the source gives, or of what a HEAD would have got. A source of unknown length is sent
  // in chunks; one that gives less than this has its connection cut, so that the client can tell.
  std::optional<std::uint64_t> length = {};
  // Instead of all that, where making the answer takes long (a disk, a peer): it is asked once, on
  // a handler's thread, while the request is kept. What it returns has no such word of its own.
  std::function<Response()> later = nullptr;
};

using Handler = std::function<Response(const Request&)>;

// Takes the body of one request. Its calls never overlap; each may come on another thread.
// Destroyed without finish(): the client left, was too slow or sent too much, and what was taken is
// to be forgotten.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // A response refuses the rest of the body; the connection is closed behind it.
  virtual std::optional<Response> take(std::string_view piece) = 0;
  // The body has come whole.
  virtual Response finish() = 0;
};

// What is to be done with the body that a request announces, decided from its header alone: it goes
// to the handler, into a sink, or is not wanted, and the response (its own body held) says why.
struct GatherBody {};  // into Request::body
using BodyPlan = std::variant<GatherBody, std::unique_ptr<BodySink>, Response>;

// What a server does: `plan` is asked for requests with a body, before the client is told to go on
// (100 Continue); without it all bodies are gathered. The request it is shown outlives its sink.
struct Service {
  Handler answer;
  std::function<BodyPlan(const Request&)> plan = nullptr;
};

std::string_view path_of(const Request& request);
// The value of a query parameter as sent; empty when absent.
std::string_view query_value(const Request& request, std::string_view name);

}  // namespace orrery::net
