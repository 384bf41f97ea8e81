// A streamed request body on its way to its sink, piece by piece.
//
// If the body is chunked or comes over TLS, the I/O thread receives one piece while the sink takes
// the one before it. If it is plain and its length is known, the I/O thread receives a piece only
// when the sink has to wait. The handler thread that has taken a piece then continues with the
// bytes that have arrived since (receive_more), so the bytes of a fast client never change threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "live/net/message.h"
#include "live/net/transport.h"

namespace orrery::net {

// A piece is handed on as soon as it has this many bytes. The deadline of a slow client therefore
// does not depend on the piece size.
inline constexpr std::size_t kEnoughBytes = 256u << 10;

class Inflow {
 public:
  using Header = boost::beast::http::request_parser<boost::beast::http::empty_body>;
  Inflow(std::unique_ptr<BodySink> to, std::size_t piece, Header&& header)
      : sink(std::move(to)), incoming(piece, '\0'), taken(piece, '\0'), parser(std::move(header)) {}
  ~Inflow();
  Inflow(const Inflow&) = delete;
  Inflow& operator=(const Inflow&) = delete;

  // Used for a plain body of known length. Duplicates the socket, because the I/O thread may close
  // it while a piece is being received.
  void receive_directly(int socket, std::uint64_t length);
  bool is_direct() const { return socket_ >= 0; }

  // Hands the received piece to the sink, and then the bytes that have arrived since. Runs on a
  // handler thread. A refusal ends the body.
  std::optional<Response> take(std::size_t got, bool last);

  std::unique_ptr<BodySink> sink;
  std::string incoming;
  std::string taken;
  boost::beast::http::request_parser<boost::beast::http::buffer_body> parser;
  std::optional<std::uint64_t> left = {};  // remaining bytes of a plain body of known length
  std::size_t got = 0;                     // bytes in `incoming`
  bool ready = false;                      // `incoming` is waiting to be taken
  bool taking = false;                     // the sink is working on `taken`
  bool reading = false;                    // `incoming` is being filled
  bool last = false;                       // the last piece received ends the body

 private:
  std::size_t receive_more();

  int socket_ = -1;
};

}  // namespace orrery::net
