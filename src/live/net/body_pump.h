// A streamed response body on its way out: one piece is sent while the next is made.
//
// make() runs on a handler's thread and fills the piece behind; turn() brings it to the front to be
// sent. The two never run at once, and make() never while its piece is being sent. A body whose
// length is not known is framed in chunks, in place: eight digits of length before the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/net/message.h"

namespace orrery::net {

class BodyPump {
 public:
  // Without a length: chunks, or (for clients of HTTP/1.0) bytes until the connection ends.
  BodyPump(BodySource source, std::optional<std::uint64_t> length, bool chunked,
           std::size_t piece_bytes);

  void make();
  void turn();
  std::string_view piece() const { return front_; }  // as it goes over the wire; after turn()
  bool last() const { return front_last_; }          // nothing comes after piece()
  bool failed() const { return failed_; }            // the source gave up, or gave too little

 private:
  void frame(std::size_t got, std::size_t at);

  BodySource source_;
  std::optional<std::uint64_t> left_;
  bool chunked_;
  std::size_t piece_bytes_;
  std::uint64_t offset_ = 0;
  std::string front_;
  std::string back_;
  bool front_last_ = false;
  bool back_last_ = false;
  bool failed_ = false;
};

}  // namespace orrery::net
