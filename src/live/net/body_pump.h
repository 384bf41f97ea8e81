// A streamed response body while it is being sent: one piece is sent while the next is made.
//
// make() runs on a handler thread and fills the back piece; turn() swaps it to the front to be
// sent. The two never run at the same time. A body of unknown length is sent in chunks, framed in
// place: each chunk begins with its length in eight digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/net/message.h"

namespace orrery::net {

class BodyPump {
 public:
  // Without a length the body goes in chunks, or (for HTTP/1.0) bare until the connection ends.
  BodyPump(BodySource source, std::optional<std::uint64_t> length, bool chunked,
           std::size_t piece_bytes);

  void make();
  void turn();
  std::string_view piece() const {
    return front_;
  }                                                  // bytes to write to the connection; valid
                                                     // after turn()
  bool last() const { return front_last_; }          // piece() is the last piece
  bool failed() const { return failed_; }            // the source failed or ended early

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
