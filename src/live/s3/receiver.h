// The bytes of one object on their way from a store to a writer, checked as they pass.
//
// A whole object is checked against the CRC-32C that we stored with it, or else against the ETag if
// that is an MD5. A range is checked against its Content-Range before the first byte is passed on;
// bytes beyond the range are dropped. One receiver serves all attempts of one request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/net/client.h"
#include "live/s3/client.h"
#include "live/s3/hash.h"

namespace orrery::s3 {

inline constexpr std::string_view kCrcHeader = "x-amz-meta-orrery-crc32c";
inline constexpr std::string_view kWriterHeader = "x-amz-meta-orrery-writer";

std::string crc_text(std::uint32_t crc);
std::string unquoted(std::string_view etag);
// Returns whether the ETag is the MD5 of the content. It is not if the object was uploaded in parts
// or encrypted by a key service.
bool etag_is_md5(const net::Reply& reply, std::string_view etag);

class Receiver {
 public:
  struct Range {
    std::uint64_t from = 0;
    std::uint64_t count = 0;
  };
  explicit Receiver(const Writer& writer, std::optional<Range> range = {})
      : writer_(writer), range_(range) {}

  bool begin();  // starts an attempt; returns false if the writer cannot restart
  bool take(const net::Reply& head, std::string_view piece);
  // Returns what is wrong with the received bytes, or an empty text.
  std::string check(const net::Reply& reply);
  bool verified() const { return verified_; }
  bool gave_up() const { return gave_up_; }

 private:
  void look_at(const net::Reply& head);
  std::string check_range(const net::Reply& reply) const;
  std::string check_whole(const net::Reply& reply);

  const Writer& writer_;
  std::optional<Range> range_;
  bool looked_ = false;
  bool wrong_range_ = false;
  bool gave_up_ = false;
  bool verified_ = false;
  std::uint64_t received_ = 0;
  std::uint64_t handed_on_ = 0;
  std::uint32_t crc_ = 0;
  std::optional<Hash> md5_;  // used if there is no CRC to check
};

}  // namespace orrery::s3
