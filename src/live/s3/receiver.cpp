#include "live/s3/receiver.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/digest.h"

namespace orrery::s3 {

std::string crc_text(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

std::string unquoted(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

bool etag_is_md5(const net::Reply& reply, std::string_view etag) {
  return etag.size() == 32 && etag.find_first_not_of("0123456789abcdef") == etag.npos &&
         !reply.header("x-amz-server-side-encryption").starts_with("aws:kms");
}

bool Receiver::begin() {
  const bool again = handed_on_ > 0;
  looked_ = wrong_range_ = verified_ = false;
  received_ = handed_on_ = 0;
  crc_ = 0;
  md5_.reset();
  gave_up_ = again && !(writer_.restart && writer_.restart());
  return !gave_up_;
}

void Receiver::look_at(const net::Reply& head) {
  looked_ = true;
  if (range_) {
    const std::string said = fmt::format("bytes {}-", range_->from);
    wrong_range_ = head.status != 206 || !head.header("content-range").starts_with(said);
  } else if (head.header(kCrcHeader).empty() && etag_is_md5(head, unquoted(head.header("etag")))) {
    md5_.emplace(HashKind::md5);
  }
}

bool Receiver::take(const net::Reply& head, std::string_view piece) {
  if (!looked_) look_at(head);
  received_ += piece.size();
  if (md5_) md5_->add(piece);
  if (!range_ && !md5_) crc_ = crc32c(piece, crc_);
  if (wrong_range_) return true;  // check() then reports a failed attempt
  if (range_)
    piece = piece.substr(0, std::min<std::uint64_t>(range_->count - handed_on_, piece.size()));
  handed_on_ += piece.size();
  gave_up_ = !piece.empty() && !writer_.take(piece);
  return !gave_up_;
}

std::string Receiver::check(const net::Reply& reply) {
  if (!looked_) look_at(reply);
  return range_ ? check_range(reply) : check_whole(reply);
}

// A store may send more than the requested range if it says so (RFC 9110, 15.3.7); s3rver answers
// `bytes=0-0` with the whole object.
std::string Receiver::check_range(const net::Reply& reply) const {
  const std::string said = fmt::format("bytes {}-{}/", range_->from, range_->from + received_ - 1);
  if (wrong_range_ || received_ == 0 || !reply.header("content-range").starts_with(said)) {
    return fmt::format("the answer is not the requested range: {} bytes, {}", received_,
                       reply.header("content-range").substr(0, 60));
  }
  if (received_ >= range_->count) return "";
  return fmt::format("the answer has only {} of the {} bytes requested", received_, range_->count);
}

std::string Receiver::check_whole(const net::Reply& reply) {
  const std::string_view crc = reply.header(kCrcHeader);
  verified_ = !crc.empty() || md5_;
  if (!crc.empty()) {
    return crc == crc_text(crc_) ? "" : "the CRC-32C of the body differs from the stored one";
  }
  if (!md5_ || unquoted(reply.header("etag")) == to_hex(md5_->finish())) return {};
  return "the MD5 of the body differs from the object's ETag";
}

}  // namespace orrery::s3
