#include "agent/sigv4.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"

namespace orrery {
namespace {

// Lower-case names in order, values trimmed.
HeaderList canonical_headers(const HeaderList& headers) {
  HeaderList all;
  for (const auto& [name, value] : headers) {
    all.emplace_back(lowered(name), std::string(trimmed(value)));
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

std::string authorization(const SignatureInput& input, const S3Credentials& credentials) {
  const std::string scope = scope_of(input);
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + input.time + '\n' + scope + '\n' +
                              sha256_hex(canonical_request(input));
  std::string key = hmac_sha256("AWS4" + credentials.secret_key, input.time.substr(0, 8));
  key = hmac_sha256(key, input.region);
  key = hmac_sha256(key, input.service);
  key = hmac_sha256(key, "aws4_request");
  return "AWS4-HMAC-SHA256 Credential=" + credentials.access_key + '/' + scope +
         ", SignedHeaders=" + signed_names(canonical_headers(input.headers)) +
         ", Signature=" + to_hex(hmac_sha256(key, to_sign));
}

}  // namespace orrery
