#include "app/server/router.h"

#include <algorithm>
#include <optional>

#include "app/server/problem.h"
#include "core/base/text.h"

namespace orrery::server {
namespace {

bool is_plain(std::string_view part) {
  return !part.empty() && part.find("..") == std::string_view::npos &&
         std::ranges::all_of(part, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

std::optional<PathValues> match(std::string_view pattern, std::string_view path) {
  const auto wanted = split(pattern, '/');
  const auto given = split(path, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  PathValues values;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].starts_with('{')) {
      if (wanted[i] != given[i]) return std::nullopt;
    } else if (is_plain(given[i])) {
      values.emplace_back(given[i]);
    } else {
      return std::nullopt;
    }
  }
  return values;
}

Response method_not_allowed(const std::string& allowed) {
  Response response = problem(405, "this address accepts " + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

// A HEAD request is answered as its GET, without the body.
std::string_view method_of(const Request& request) {
  return request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
}

}  // namespace

RequestRouter::Answer RequestRouter::answer(const Request& request) const {
  const std::string_view path = path_of(request);
  const std::string_view method = method_of(request);
  std::string allowed;
  std::string_view pattern;
  for (const Route& route : routes_) {
    const auto values = match(route.pattern, path);
    if (!values) continue;
    if (route.method == method) return {route.answer(request, *values), route.pattern};
    allowed += (allowed.empty() ? "" : ", ") + route.method;
    pattern = route.pattern;
  }
  if (!allowed.empty()) return {method_not_allowed(allowed), pattern};
  return {problem(404, "there is nothing at this address"), {}};
}

std::string_view RequestRouter::pattern_of(const Request& request) const {
  const std::string_view path = path_of(request);
  const std::string_view method = method_of(request);
  for (const Route& route : routes_) {
    if (route.method == method && match(route.pattern, path)) return route.pattern;
  }
  return {};
}

}  // namespace orrery::server
