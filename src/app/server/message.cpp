#include "app/server/message.h"

#include "app/server/problem.h"

namespace orrery::server {
namespace {

// Policy of a response that sets none itself: in a browser it may only style itself.
constexpr const char* kNoScript =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";

}  // namespace

Response json_response(std::string body, int status) {
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

net::ServerOptions browser_options() {
  return {
      .default_headers = {{"Content-Security-Policy", kNoScript}, {"Cache-Control", "no-store"}},
      .fixed_headers = {{"X-Content-Type-Options", "nosniff"},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cross-Origin-Resource-Policy", "same-origin"}},
      .refusal = [](int status, std::string_view what) {
        Response response = problem(status, what);
        // Too many requests at once: answers take milliseconds, so a retry after a second is
        // enough.
        if (status == 503) response.headers.emplace_back("Retry-After", "1");
        return response;
      }};
}

}  // namespace orrery::server
