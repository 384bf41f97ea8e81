#include "live/net/body_pump.h"

#include <algorithm>
#include <exception>
#include <span>

namespace orrery::net {
namespace {

constexpr std::size_t kChunkHead = 10;  // the length of "0004f000\r\n"

}  // namespace

BodyPump::BodyPump(BodySource source, std::optional<std::uint64_t> length, bool chunked,
                   std::size_t piece_bytes)
    : source_(std::move(source)),
      left_(length),
      chunked_(chunked),
      piece_bytes_(std::max<std::size_t>(1, piece_bytes)) {}

void BodyPump::make() {
  const std::uint64_t wanted = std::min<std::uint64_t>(piece_bytes_, left_.value_or(piece_bytes_));
  const std::size_t at = chunked_ ? kChunkHead : 0;
  back_.resize(at + static_cast<std::size_t>(wanted));
  std::optional<std::size_t> got = 0;
  try {
    if (wanted > 0) got = source_(offset_, std::span(back_).subspan(at));
  } catch (const std::exception&) {
    got = std::nullopt;
  }
  if (!got || *got > wanted || (left_ && *got == 0 && *left_ > 0)) {
    failed_ = true;
    return;
  }
  offset_ += *got;
  if (left_) *left_ -= *got;
  back_last_ = left_ ? *left_ == 0 : *got == 0;
  frame(*got, at);
}

void BodyPump::frame(std::size_t got, std::size_t at) {
  back_.resize(at + got);
  if (!chunked_) return;
  static constexpr char kHex[] = "0123456789abcdef";
  if (got == 0) {  // the last chunk
    back_ = "0\r\n\r\n";
    return;
  }
  for (std::size_t i = 0; i < 8; ++i) back_[i] = kHex[(got >> (28 - 4 * i)) & 15];
  back_[8] = '\r';
  back_[9] = '\n';
  back_ += "\r\n";
}

void BodyPump::turn() {
  std::swap(front_, back_);
  front_last_ = back_last_;
}

}  // namespace orrery::net
