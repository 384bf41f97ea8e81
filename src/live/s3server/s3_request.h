// A request as S3 sees it: bucket, key and parameters, decoded; by path or by virtual host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "live/net/message.h"
#include "live/s3server/names.h"

namespace orrery::s3server {

struct S3Request {
  std::string method;
  std::string path;            // decoded, starting with a slash
  std::string bucket;          // empty: the service itself
  std::string key;             // empty: the bucket
  net::HeaderList query = {};  // decoded

  bool has(std::string_view parameter) const;
  std::string_view parameter(std::string_view name) const;  // returns an empty text if the
                                                            // parameter is missing
  std::optional<std::string> version_id() const;
};

// Decodes %XX; returns nullopt if a sequence is invalid. With `plus`, + becomes a blank, as in
// forms.
std::optional<std::string> percent_decoded(std::string_view text, bool plus);

// `domain` follows the bucket in a virtual host's name ("localhost").
Answer<S3Request> s3_request_of(const net::Request& request, std::string_view domain);

// 3 to 63 lower-case letters, digits, dots and dashes, and not an IP address.
bool is_bucket_name(std::string_view name);
// Up to 1,024 bytes of UTF-8 without NUL.
Answer<void> check_key(std::string_view key);

}  // namespace orrery::s3server
