// AWS Signature Version 4: the headers that authenticate a request to an object store.
//
//   canonical request   method, path, query, headers and payload digest, each in one fixed form
//   string to sign      "AWS4-HMAC-SHA256", time, day/region/service/aws4_request, its SHA-256
//   key                 HMAC of HMAC of ... of the secret over day, region, service
// The scheme is Amazon's (S3 API reference, "Authenticating requests"); its published examples are
// tests. libcurl signs too, but its 7.88 gets unsorted queries, keys without a value and `=` in a
// path wrong, so the signing is ours. The steps are separate functions, so that a server can
// compute what a client must have sent. The time is a parameter.
#pragma once

#include <string>
#include <string_view>

#include "live/net/message.h"

namespace orrery::s3 {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty if there is none
};

using net::HeaderList;

// Encodes every byte except A-Z a-z 0-9 - . _ ~ as %XX; a path keeps its slashes.
std::string uri_encoded(std::string_view text, bool keep_slash);

struct SignatureInput {
  std::string method;
  std::string path;     // encoded, starting with a slash
  HeaderList query;     // not encoded; a key without a value has an empty one
  HeaderList headers;   // the signed headers; Host must be among them
  std::string payload;  // hexadecimal SHA-256, or "UNSIGNED-PAYLOAD"
  std::string time;     // "20130524T000000Z"
  std::string region;
  std::string service = "s3";
};

std::string canonical_query(HeaderList query);
std::string canonical_request(const SignatureInput& input);
std::string string_to_sign(const SignatureInput& input);
// Returns the key for one day ("20130524"), region and service. A server may store it instead of
// the secret.
std::string signing_key(std::string_view secret, std::string_view day, std::string_view region,
                        std::string_view service = "s3");
// Returns the signature of the string to sign, in hexadecimal.
std::string signature(const SignatureInput& input, std::string_view signing_key);
// Returns the value of the Authorization header.
std::string authorization(const SignatureInput& input, const Credentials& credentials);

}  // namespace orrery::s3
