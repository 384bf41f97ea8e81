// A request as S3 means it: bucket, key, the parameters, decoded; by path or by virtual host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "live/net/message.h"
#include "live/s3server/names.h"

namespace orrery::s3server {

struct S3Request {
  std::string method;
  std::string path;            // decoded, from the first slash
  std::string bucket;          // empty: the service itself
  std::string key;             // empty: the bucket
  net::HeaderList query = {};  // decoded

  bool has(std::string_view parameter) const;
  std::string_view parameter(std::string_view name) const;  // empty where there is none
  std::optional<std::string> version_id() const;
};

// %XX decoded; nullopt where one is broken. `plus` makes + a blank, as forms do.
std::optional<std::string> percent_decoded(std::string_view text, bool plus);

// `domain` is what follows the bucket in a virtual host's name ("localhost").
Answer<S3Request> s3_request_of(const net::Request& request, std::string_view domain);

// 3 to 63 of lower-case letters, digits, dots and dashes, and no address.
bool is_bucket_name(std::string_view name);
// Up to 1,024 bytes of UTF-8 without NUL.
Answer<void> check_key(std::string_view key);

}  // namespace orrery::s3server
