// A streamed body on its way in, piece by piece, to its sink.
//
// Of a body framed in chunks, or over TLS, one piece is received on the I/O thread while the one
// before it is taken. Of a plain one whose length is known the I/O thread receives a piece only
// where the sink has to wait for it: whoever has taken a piece goes on with what has come meanwhile
// (receive_more), without waiting, so a fast client's bytes cross no threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "live/net/message.h"
#include "live/net/transport.h"

namespace orrery::net {

// A piece is handed on once it has so much: a client that is slow has as long for it however large
// the pieces may be.
inline constexpr std::size_t kEnoughBytes = 256u << 10;

class Inflow {
 public:
  using Header = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  Inflow(std::unique_ptr<BodySink> to, std::size_t piece, Header&& header)
      : sink(std::move(to)), incoming(piece, '\0'), taken(piece, '\0'), parser(std::move(header)) {}
  ~Inflow();
  Inflow(const Inflow&) = delete;
  Inflow& operator=(const Inflow&) = delete;

  // Of a plain body with a length. The socket is kept open by a name of its own: it may be closed
  // on the I/O thread while a piece is received.
  void receive_directly(int socket, std::uint64_t length);
  bool is_direct() const { return socket_ >= 0; }

  // Hands the piece that was received to the sink, and what has come meanwhile; on a handler's
  // thread. A refusal ends the body.
  std::optional<Response> take(std::size_t got, bool last);

  std::unique_ptr<BodySink> sink;
  std::string incoming;
  std::string taken;
  boost::beast::http::request_parser<boost::beast::http::buffer_body> parser;
  std::optional<std::uint64_t> left = {};  // of a plain body with a length, still to come
  std::size_t got = 0;                     // in `incoming`
  bool ready = false;                      // `incoming` waits to be taken
  bool taking = false;                     // `taken` is in the sink's hands
  bool reading = false;                    // `incoming` is being filled
  bool last = false;                       // nothing comes after the piece received last

 private:
  std::size_t receive_more();

  int socket_ = -1;
};

}  // namespace orrery::net
