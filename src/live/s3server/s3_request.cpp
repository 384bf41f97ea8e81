#include "live/s3server/s3_request.h"

#include <algorithm>

#include "core/base/text.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kKeyBytesMax = 1024;

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

bool is_small(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_address(std::string_view name) {
  const auto parts = split(name, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
         });
}

Answer<net::HeaderList> query_of(std::string_view text) {
  net::HeaderList query;
  if (text.empty()) return query;
  for (const std::string_view pair : split(text, '&')) {
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = percent_decoded(pair.substr(0, equals), true);
    auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return refused("InvalidURI");
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

std::string_view host_of(const net::Request& request) {
  const std::string_view host = request.header("Host");
  const auto colon = host.rfind(':');
  return colon == host.npos ? host : host.substr(0, colon);
}

}  // namespace

bool S3Request::has(std::string_view name) const {
  return std::ranges::any_of(query, [name](const auto& q) { return q.first == name; });
}

std::string_view S3Request::parameter(std::string_view name) const {
  const auto at = std::ranges::find_if(query, [name](const auto& q) { return q.first == name; });
  return at == query.end() ? std::string_view() : std::string_view(at->second);
}

std::optional<std::string> S3Request::version_id() const {
  if (!has("versionId")) return std::nullopt;
  return std::string(parameter("versionId"));
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
      const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
      if (!high || !low) return std::nullopt;
      out += static_cast<char>(*high * 16 + *low);
      i += 2;
    }
  }
  return out;
}

bool is_bucket_name(std::string_view name) {
  if (name.size() < 3 || name.size() > 63 || is_address(name)) return false;
  if (!is_small(name.front()) || !is_small(name.back())) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_small(c) && c != '.' && c != '-') return false;
    if (c == '.' && (name[i - 1] == '.' || name[i - 1] == '-' || name[i + 1] == '-')) return false;
  }
  return true;
}

Answer<void> check_key(std::string_view key) {
  if (key.size() > kKeyBytesMax) return refused("KeyTooLongError");
  if (key.find('\0') != key.npos || !is_valid_utf8(key)) {
    return refused("InvalidURI", "A key must be valid UTF-8 without NUL.");
  }
  return {};
}

Answer<S3Request> s3_request_of(const net::Request& request, std::string_view domain) {
  S3Request to{.method = request.method, .path = {}, .bucket = {}, .key = {}};
  const std::string_view target = request.target;
  const auto mark = std::min(target.find('?'), target.size());
  auto path = percent_decoded(target.substr(0, mark), false);
  if (!path || !path->starts_with('/')) return refused("InvalidURI");
  auto query = query_of(target.substr(std::min(mark + 1, target.size())));
  if (!query) return std::unexpected(query.error());
  to.path = std::move(*path);
  to.query = std::move(*query);
  std::string_view rest = std::string_view(to.path).substr(1);
  const std::string_view host = host_of(request);
  if (!domain.empty() && host.size() > domain.size() + 1 && host.ends_with(domain) &&
      host[host.size() - domain.size() - 1] == '.') {
    to.bucket = host.substr(0, host.size() - domain.size() - 1);
    to.key = rest;
  } else {
    const auto slash = std::min(rest.find('/'), rest.size());
    to.bucket = rest.substr(0, slash);
    to.key = rest.substr(std::min(slash + 1, rest.size()));
  }
  if (auto good = check_key(to.key); !good) return std::unexpected(good.error());
  return to;
}

}  // namespace orrery::s3server
