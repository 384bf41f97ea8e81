#include "server/message.h"

#include "base/text.h"

namespace orrery {

std::string_view path_of(const Request& request) {
  return std::string_view(request.target).substr(0, request.target.find('?'));
}

std::string_view query_value(const Request& request, std::string_view name) {
  const std::size_t mark = request.target.find('?');
  if (mark == std::string::npos) return {};
  for (const std::string_view pair :
       split(std::string_view(request.target).substr(mark + 1), '&')) {
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    return equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
  }
  return {};
}

Response json_response(std::string body, int status) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

}  // namespace orrery
