// The routes: pure functions from Request to Response.
//
//   GET  /                            the review of the served design, as a page
//   GET  /healthz                     {"status":"ok"}; the one route that needs no token
//   POST /api/v1/plan                 a design (YAML) in, its verdict (JSON) out; faults as
//   problem+json GET  /api/v1/catalog              the kinds of parts GET  /api/v1/catalog/KIND the
//   ids of a kind GET  /api/v1/catalog/KIND/ID      one part with its sources
//
// What the routes need from the other rooms comes in as callables, so that a test can hand in its
// own and a slow answer is the caller's to schedule.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"
#include "server/message.h"

namespace orrery {

struct Services {
  std::function<Result<std::string>()> review_page;                          // HTML
  std::function<Result<std::string>(std::string_view design)> plan;          // JSON
  std::function<std::optional<std::string>(std::string_view path)> catalog;  // JSON; path "KIND/ID"
};

Response handle(const Request& request, const Services& services);

}  // namespace orrery
