#include "live/s3/sigv4.h"

#include <algorithm>
#include <array>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3/hash.h"

namespace orrery::s3 {
namespace {

// Removes blanks at both ends, and replaces runs of blanks inside by one.
std::string collapsed(std::string_view value) {
  std::string out;
  for (const std::string_view word : split_at_blanks(value)) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

// Lower-case names in order, with trimmed values.
HeaderList canonical_headers(const HeaderList& headers) {
  HeaderList all;
  for (const auto& [name, value] : headers) {
    all.emplace_back(lowered(name), collapsed(value));
  }
  std::ranges::sort(all);
  return all;
}

std::string signed_names(const HeaderList& canonical) {
  std::string names;
  for (const auto& [name, value] : canonical) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string scope_of(const SignatureInput& input) {
  return input.time.substr(0, 8) + '/' + input.region + '/' + input.service + "/aws4_request";
}

struct DerivedKey {
  std::string secret;
  std::string day;
  std::string region;
  std::string service;
  std::string key = {};

  bool is_of(std::string_view s, std::string_view d, std::string_view r, std::string_view v) const {
    return !key.empty() && secret == s && day == d && region == r && service == v;
  }
};

}  // namespace

std::string uri_encoded(std::string_view text, bool keep_slash) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/');
    if (plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::string canonical_query(HeaderList query) {
  for (auto& [name, value] : query) {
    name = uri_encoded(name, false);
    value = uri_encoded(value, false);
  }
  std::ranges::sort(query);
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out += name + '=' + value;
  }
  return out;
}

std::string canonical_request(const SignatureInput& input) {
  const HeaderList headers = canonical_headers(input.headers);
  std::string out = input.method + '\n' + input.path + '\n' + canonical_query(input.query) + '\n';
  for (const auto& [name, value] : headers) out += name + ':' + value + '\n';
  return out + '\n' + signed_names(headers) + '\n' + input.payload;
}

std::string string_to_sign(const SignatureInput& input) {
  return "AWS4-HMAC-SHA256\n" + input.time + '\n' + scope_of(input) + '\n' +
         sha256_hex(canonical_request(input));
}

std::string signing_key(std::string_view secret, std::string_view day, std::string_view region,
                        std::string_view service) {
  // The signing key is the same for a whole day. Keeping it saves four of the five hashes per
  // request.
  thread_local std::array<DerivedKey, 8> recent;
  thread_local std::size_t next = 0;
  for (const DerivedKey& known : recent) {
    if (known.is_of(secret, day, region, service)) return known.key;
  }
  std::string key = hmac_sha256("AWS4" + std::string(secret), day);
  key = hmac_sha256(key, region);
  key = hmac_sha256(key, service);
  key = hmac_sha256(key, "aws4_request");
  recent[next++ % recent.size()] = {std::string(secret), std::string(day), std::string(region),
                                    std::string(service), key};
  return key;
}

std::string signature(const SignatureInput& input, std::string_view key) {
  return to_hex(hmac_sha256(key, string_to_sign(input)));
}

std::string authorization(const SignatureInput& input, const Credentials& credentials) {
  const std::string key =
      signing_key(credentials.secret_key, input.time.substr(0, 8), input.region, input.service);
  return "AWS4-HMAC-SHA256 Credential=" + credentials.access_key + '/' + scope_of(input) +
         ", SignedHeaders=" + signed_names(canonical_headers(input.headers)) +
         ", Signature=" + signature(input, key);
}

}  // namespace orrery::s3
