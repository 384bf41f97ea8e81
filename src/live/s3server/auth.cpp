#include "live/s3server/auth.h"

#include <algorithm>
#include <cctype>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3/hash.h"
#include "live/s3/sigv4.h"
#include "live/store/moment.h"

namespace orrery::s3server {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kUnsigned = "UNSIGNED-PAYLOAD";
constexpr std::string_view kOwn = "x-amz-";     // prefix of headers that have a meaning in S3
constexpr TimeMs kSkewMs = 900'000;             // 15 minutes
constexpr std::int64_t kExpiresMaxS = 604'800;  // a week

struct Claim {
  std::string access_key;
  std::string day;
  std::string region;
  std::string service;
  std::vector<std::string> headers;
  std::string signature;
  std::string time;
  std::string payload;            // value that describes the body: a digest, or a mode
  bool payload_is_signed = true;  // the signature may cover the body's digest
  bool in_query = false;

  std::string scope() const { return day + '/' + region + '/' + service + "/aws4_request"; }
};

bool read_credential(std::string_view text, Claim& claim) {
  const auto parts = split(text, '/');
  if (parts.size() < 5 || parts.back() != "aws4_request") return false;
  const std::size_t n = parts.size();
  claim.day = parts[n - 4];
  claim.region = parts[n - 3];
  claim.service = parts[n - 2];
  claim.access_key =
      text.substr(0, static_cast<std::size_t>(parts[n - 4].data() - text.data()) - 1);
  return claim.day.size() == 8;
}

void read_names(std::string_view text, Claim& claim) {
  for (const std::string_view name : split(text, ';')) claim.headers.emplace_back(name);
}

bool names(const Claim& claim, std::string_view header) {
  return std::ranges::find(claim.headers, header) != claim.headers.end();
}

Answer<Claim> claim_of_header(const net::Request& raw, std::string_view text) {
  const auto malformed = refused("AuthorizationHeaderMalformed");
  Claim claim;
  text.remove_prefix(kAlgorithm.size());
  bool credential = false;
  for (const std::string_view field : split(text, ',')) {
    const std::string_view part = trimmed(field);
    if (part.starts_with("Credential=")) credential = read_credential(part.substr(11), claim);
    if (part.starts_with("SignedHeaders=")) read_names(part.substr(14), claim);
    if (part.starts_with("Signature=")) claim.signature = part.substr(10);
  }
  if (!credential || claim.headers.empty() || claim.signature.size() != 64) return malformed;
  claim.time = raw.header("x-amz-date");
  if (claim.time.empty()) {
    const auto date = moment_of_http(raw.header("Date"));
    if (!date) return refused("AccessDenied", "A signed request must have a date.");
    claim.time = amz_time(*date);
  }
  claim.payload = raw.header("x-amz-content-sha256");
  if (claim.payload.empty()) return refused("InvalidRequest", "x-amz-content-sha256 is missing.");
  return claim;
}

// Headers that S3 also takes as parameters of a signed URL. This server does not: without them an
// object would be stored unlocked, or shared with others than its sender asked for.
constexpr std::string_view kOnlyHeaders[] = {"x-amz-acl",     "x-amz-bypass-governance-retention",
                                             "x-amz-grant-",  "x-amz-copy-source",
                                             "x-amz-tagging", "x-amz-object-lock-"};

Answer<void> check_url_parameters(const S3Request& request) {
  for (const auto& [sent, value] : request.query) {
    const std::string name = lowered(sent);
    if (std::ranges::none_of(kOnlyHeaders, [&](auto own) { return name.starts_with(own); }))
      continue;
    return refused("NotImplemented", name + " must be a signed header of the request.");
  }
  return {};
}

// A signed URL is made before its body is known, so most of them sign UNSIGNED-PAYLOAD. A client
// that also sends a digest, in a header or as a parameter, must send a matching body; if the digest
// itself is signed, the signature may cover it.
void read_url_payload(const net::Request& raw, const S3Request& request, Claim& claim) {
  constexpr std::string_view kParameter = "X-Amz-Content-Sha256";
  claim.payload = raw.header("x-amz-content-sha256");
  const bool in_header = !claim.payload.empty();
  for (const auto& [name, value] : request.query) {
    if (!in_header && net::is_same_name(name, kParameter)) claim.payload = value;
  }
  if (claim.payload.empty()) claim.payload = kUnsigned;
  claim.payload_is_signed = !in_header || names(claim, "x-amz-content-sha256");
}

Answer<Claim> claim_of_query(const net::Request& raw, const S3Request& request, TimeMs now) {
  const auto wrong = [](const char* what) {
    return refused("AuthorizationQueryParametersError", what);
  };
  if (auto good = check_url_parameters(request); !good) return std::unexpected(good.error());
  Claim claim{.in_query = true};
  if (request.parameter("X-Amz-Algorithm") != kAlgorithm) {
    return wrong("The value of X-Amz-Algorithm is not supported.");
  }
  if (!read_credential(request.parameter("X-Amz-Credential"), claim)) {
    return wrong("X-Amz-Credential is malformed.");
  }
  read_names(request.parameter("X-Amz-SignedHeaders"), claim);
  claim.signature = request.parameter("X-Amz-Signature");
  claim.time = request.parameter("X-Amz-Date");
  read_url_payload(raw, request, claim);
  const auto expires = parse_integer(request.parameter("X-Amz-Expires"));
  const auto signed_at = moment_of_amz(claim.time);
  if (!expires || !signed_at) return wrong("X-Amz-Date or X-Amz-Expires is malformed.");
  if (*expires <= 0 || *expires > kExpiresMaxS) {
    return refused("AccessDenied", "X-Amz-Expires is out of range.");
  }
  if (now > *signed_at + *expires * 1000)
    return refused("AccessDenied", "The request has expired.");
  if (*signed_at > now + kSkewMs) return refused("AccessDenied", "The request is not yet valid.");
  return claim;
}

// Compares in constant time, so that the time does not reveal how much of a guess was right.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

Answer<s3::SignatureInput> signed_input(const net::Request& raw, const S3Request& request,
                                        const Claim& claim) {
  s3::SignatureInput input{.method = request.method,
                           .path = s3::uri_encoded(request.path, true),
                           .query = request.query,
                           .headers = {},
                           .payload = {},
                           .time = claim.time,
                           .region = claim.region,
                           .service = claim.service};
  std::erase_if(input.query, [](const auto& q) { return q.first == "X-Amz-Signature"; });
  for (const std::string& name : claim.headers) {
    // Several headers with the same name count as one, with their values joined.
    std::string value;
    bool found = false;
    for (const auto& [sent, text] : raw.headers) {
      if (!net::is_same_name(sent, name)) continue;
      value += (found ? "," : "") + std::string(trimmed(text));
      found = true;
    }
    input.headers.emplace_back(name, value);
  }
  if (!names(claim, "host")) {
    return refused("AccessDenied", "The Host header must be signed.");
  }
  // Headers that change a request's meaning must be signed; otherwise a third party could add them.
  for (const auto& [sent, text] : raw.headers) {
    if (!net::is_same_name(std::string_view(sent).substr(0, kOwn.size()), kOwn)) continue;
    const std::string name = lowered(sent);
    if (names(claim, name)) continue;
    if (claim.in_query && name == "x-amz-content-sha256") continue;
    return refused("AccessDenied", "The header " + name + " is not signed.");
  }
  return input;
}

// The scope must name this region and this service: a signature for another one is not valid here.
Answer<void> check_scope(const Claim& claim, std::string_view region) {
  const auto wrong = [&](const std::string& what) {
    Refused refusal{
        claim.in_query ? "AuthorizationQueryParametersError" : "AuthorizationHeaderMalformed",
        what,
        {{"x-amz-bucket-region", std::string(region)}}};
    return std::unexpected(std::move(refusal));
  };
  if (claim.region != region) {
    return wrong("The region '" + claim.region + "' is wrong; expecting '" + std::string(region) +
                 "'.");
  }
  if (claim.service != "s3") {
    return wrong("The service '" + claim.service + "' is wrong; expecting 's3'.");
  }
  return {};
}

// Checks that x-amz-content-sha256 has an allowed value (API reference, "Common request headers").
// Modes in which only the chunks are signed need a signed request.
Answer<void> check_payload_word(std::string_view word, bool is_signed) {
  constexpr std::string_view kSignedChunks = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  const bool digest = word.size() == 64 && std::ranges::all_of(word, is_hex);
  const bool chunks = word == kSignedChunks || word == std::string(kSignedChunks) + "-TRAILER";
  if (digest || word == kUnsigned || word == "STREAMING-UNSIGNED-PAYLOAD-TRAILER" ||
      (chunks && is_signed)) {
    return {};
  }
  return refused("InvalidArgument",
                 "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, a SHA-256, or a streaming mode "
                 "that this server supports.");
}

bool fits(s3::SignatureInput& input, const Claim& claim, const std::string& key) {
  const auto is_of = [&](std::string_view payload) {
    input.payload = payload;
    return same(s3::signature(input, key), claim.signature);
  };
  if (claim.payload_is_signed && is_of(claim.payload)) return true;
  const bool asked = claim.payload_is_signed && claim.payload == kUnsigned;
  return claim.in_query && !asked && is_of(kUnsigned);
}

}  // namespace

Answer<Caller> authenticate(const net::Request& raw, const S3Request& request, TimeMs now,
                            std::string_view region, const FindTenant& find) {
  const std::string_view header = raw.header("Authorization");
  const bool in_query = request.has("X-Amz-Signature") || request.has("X-Amz-Credential");
  if (header.empty() && !in_query) {
    if (request.has("Signature") || request.has("AWSAccessKeyId")) {
      return refused("InvalidRequest", "This server supports only Signature Version 4.");
    }
    std::string payload(raw.header("x-amz-content-sha256"));
    if (payload.empty()) payload = kUnsigned;
    if (auto good = check_payload_word(payload, false); !good) {
      return std::unexpected(good.error());
    }
    return Caller{.tenant = std::nullopt, .payload = std::move(payload)};
  }
  if (!header.empty() && !header.starts_with(kAlgorithm)) {
    return refused(header.starts_with("AWS ") ? "InvalidRequest" : "InvalidArgument",
                   "This server supports only Signature Version 4.");
  }
  auto claim = header.empty() ? claim_of_query(raw, request, now) : claim_of_header(raw, header);
  if (!claim) return std::unexpected(claim.error());
  const auto time = moment_of_amz(claim->time);
  if (!time || claim->time.substr(0, 8) != claim->day) {
    return refused("AccessDenied",
                   "The date of the request differs from the date in the credential.");
  }
  if (auto good = check_scope(*claim, region); !good) return std::unexpected(good.error());
  if (auto good = check_payload_word(claim->payload, true); !good) {
    return std::unexpected(good.error());
  }
  const TimeMs off = *time > now ? *time - now : now - *time;
  if (!claim->in_query && off > kSkewMs) return refused("RequestTimeTooSkewed");
  auto tenant = find(claim->access_key);
  if (!tenant) return std::unexpected(tenant.error());
  if (!*tenant) return refused("InvalidAccessKeyId");
  auto input = signed_input(raw, request, *claim);
  if (!input) return std::unexpected(input.error());
  const std::string key =
      s3::signing_key((*tenant)->secret_key, claim->day, claim->region, claim->service);
  if (!fits(*input, *claim, key)) return refused("SignatureDoesNotMatch");
  return Caller{.tenant = std::move(*tenant),
                .payload = claim->payload,
                .seed = {key, claim->time, claim->scope(), claim->signature}};
}

}  // namespace orrery::s3server
