#include "live/net/head.h"

#include <array>
#include <boost/beast/http/status.hpp>

namespace orrery::net {
namespace {

constexpr std::size_t kUsualBytes = 512;  // large enough that most heads need one allocation
constexpr std::array<std::string_view, 3> kFraming = {"Connection", "Content-Length",
                                                      "Transfer-Encoding"};

bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

bool has(const HeaderList& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (is_same_name(key, name)) return true;
  }
  return false;
}

bool frames(std::string_view name) {
  for (const std::string_view one : kFraming) {
    if (is_same_name(one, name)) return true;
  }
  return false;
}

void add(std::string& to, std::string_view name, std::string_view value) {
  if (!is_one_line(name) || !is_one_line(value)) return;
  ((to += name) += ": ") += value;
  to += "\r\n";
}

}  // namespace

bool has_body(const Response& from, bool head) {
  return !head && from.status != 204 && from.status != 304;
}

std::optional<std::uint64_t> said_length(const Response& from, bool head) {
  if (from.length && !has_body(from, head)) return from.length;
  if (from.source || from.status == 204 || from.status == 304) return std::nullopt;
  return from.body.size();
}

std::string head_text(const Response& from, const ServerOptions& options, const Framing& framing) {
  std::string to;
  to.reserve(kUsualBytes);
  to += framing.version >= 11 ? "HTTP/1.1 " : "HTTP/1.0 ";
  to += std::to_string(from.status) + ' ';
  const auto reason = boost::beast::http::obsolete_reason(
      static_cast<boost::beast::http::status>(static_cast<unsigned>(from.status)));
  to.append(reason.data(), reason.size()) += "\r\n";
  const HeaderList& fixed = options.fixed_headers;
  const auto is_set = [&](std::string_view name) {
    return has(from.headers, name) || has(fixed, name);
  };
  const bool typed = !from.content_type.empty();
  if (!is_set("Server") && !has(options.default_headers, "Server")) add(to, "Server", "orrery");
  for (const auto& [name, value] : options.default_headers) {
    if (!is_set(name)) add(to, name, value);
  }
  if (typed && !is_set("Content-Type") && !has(options.default_headers, "Content-Type")) {
    add(to, "Content-Type", from.content_type);
  }
  for (const auto& [name, value] : from.headers) {
    if (!has(fixed, name) && !frames(name)) add(to, name, value);
  }
  for (const auto& [name, value] : fixed) add(to, name, value);
  if (framing.length) add(to, "Content-Length", std::to_string(*framing.length));
  if (framing.chunked) add(to, "Transfer-Encoding", "chunked");
  // HTTP/1.1 keeps connections by default and HTTP/1.0 closes them; only a deviation is written.
  if (framing.version >= 11 && !framing.keep_alive) add(to, "Connection", "close");
  if (framing.version < 11 && framing.keep_alive) add(to, "Connection", "keep-alive");
  return to += "\r\n";
}

}  // namespace orrery::net
