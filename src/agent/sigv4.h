// AWS Signature Version 4: the headers that prove to an object store who asks, and for what.
//
//   canonical request   method, path, query, headers and payload digest, each in one fixed form
//   string to sign      "AWS4-HMAC-SHA256", time, day/region/service/aws4_request, its SHA-256
//   key                 HMAC of HMAC of ... of the secret over day, region, service
// The scheme is Amazon's (S3 API reference, "Authenticating requests"); its published examples are
// tests. libcurl signs too, but its 7.88 gets unsorted queries, keys without a value and `=` in a
// path wrong, so the signing is ours. Pure: the time is handed in.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery {

struct S3Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
};

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// Every byte but A-Z a-z 0-9 - . _ ~ as %XX; a path keeps its slashes.
std::string uri_encoded(std::string_view text, bool keep_slash);

struct SignatureInput {
  std::string method;
  std::string path;     // encoded, from the first slash
  HeaderList query;     // not encoded; a key without a value has an empty one
  HeaderList headers;   // all are signed; Host must be among them
  std::string payload;  // hexadecimal SHA-256, or "UNSIGNED-PAYLOAD"
  std::string time;     // "20130524T000000Z"
  std::string region;
  std::string service = "s3";
};

std::string canonical_query(HeaderList query);
std::string canonical_request(const SignatureInput& input);
// The value of the Authorization header.
std::string authorization(const SignatureInput& input, const S3Credentials& credentials);

}  // namespace orrery
