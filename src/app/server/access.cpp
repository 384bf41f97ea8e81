#include "app/server/access.h"

#include <algorithm>
#include <array>

#include "app/server/problem.h"
#include "app/server/token_page.h"
#include "core/base/text.h"

namespace orrery::server {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"127.0.0.1", "localhost"};

std::string with_port(std::string_view name, int port) {
  return std::string(name) + ':' + std::to_string(port);
}

bool is_our_host(std::string_view host, int port) {
  for (const std::string_view name : kNames) {
    if (host == with_port(name, port)) return true;
  }
  return false;
}

bool is_our_origin(std::string_view origin, int port) {
  constexpr std::string_view kScheme = "http://";
  return origin.starts_with(kScheme) && is_our_host(origin.substr(kScheme.size()), port);
}

std::size_t count_of(const Request& request, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      request.headers, [name](const auto& header) { return lowered(header.first) == name; }));
}

// Compares two secrets in constant time, so that the secret cannot be guessed from the timing.
bool same_secret(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size() || secret.empty()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(secret[i]);
  }
  return difference == 0;
}

// Returns the name of the cookie. It contains the port, because browsers share cookies between the
// ports of a host.
std::string cookie_name(int port) { return "orrery_" + std::to_string(port); }

std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  for (const std::string_view part : split(cookies, ';')) {
    const std::string_view cookie = trimmed(part);
    if (cookie.starts_with(name) && cookie.substr(name.size()).starts_with('=')) {
      return cookie.substr(name.size() + 1);
    }
  }
  return {};
}

bool knows_secret(const Request& request, const AccessRules& rules) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = request.header("authorization");
  if (authorization.starts_with(kBearer) &&
      same_secret(authorization.substr(kBearer.size()), rules.token)) {
    return true;
  }
  return same_secret(cookie_value(request.header("cookie"), cookie_name(rules.port)), rules.token);
}

// Returns true if a browser asks for the console's page; scripts ask for other types.
bool opens_page(const Request& request) {
  return request.method == "GET" && path_of(request) == "/" &&
         request.header("accept").find("text/html") != std::string_view::npos;
}

Response welcome(const AccessRules& rules) {
  const std::string cookie =
      cookie_name(rules.port) + '=' + rules.token + "; Path=/; HttpOnly; SameSite=Strict";
  return {.status = 303, .body = {}, .headers = {{"Location", "/"}, {"Set-Cookie", cookie}}};
}

}  // namespace

std::optional<Response> check_host(const Request& request, int port) {
  if (count_of(request, "host") > 1) return problem(400, "the request has more than one Host");
  if (is_our_host(request.header("host"), port)) return std::nullopt;
  return problem(421, "this server answers to 127.0.0.1 and localhost only");
}

std::optional<Response> check_access(const Request& request, const AccessRules& rules) {
  if (auto refusal = check_host(request, rules.port)) return refusal;
  if (count_of(request, "origin") > 1) return problem(400, "the request has more than one Origin");
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !is_our_origin(origin, rules.port)) {
    return problem(403, "requests from other sites are refused");
  }
  if (path_of(request) == "/healthz") return std::nullopt;
  if (request.method == "GET" && path_of(request) == "/" &&
      same_secret(query_value(request, "token"), rules.token)) {
    return welcome(rules);
  }
  if (knows_secret(request, rules)) return std::nullopt;
  if (opens_page(request)) return token_page();
  return problem(401, "open the address that `orrery serve` printed: it carries the token");
}

std::string first_url(const AccessRules& rules) {
  return "http://" + with_port(kNames.front(), rules.port) + "/?token=" + rules.token;
}

}  // namespace orrery::server
