// Maps addresses to functions: a table of methods and patterns.
//
// A pattern is a path whose parts in braces match any one part ("/api/v1/jobs/{id}"). Parts are
// compared as sent: ids are lower case with hyphens, so nothing that needs decoding, and no "..",
// is a valid name. docs/api/openapi.yaml lists the same addresses; a test compares both.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/server/message.h"

namespace orrery::server {

using PathValues = std::vector<std::string>;  // values of the parts in braces, in order

struct Route {
  std::string method;  // GET also serves HEAD
  std::string pattern;
  std::function<Response(const Request&, const PathValues&)> answer;
};

class RequestRouter {
 public:
  explicit RequestRouter(std::vector<Route> routes) : routes_(std::move(routes)) {}

  struct Answer {
    Response response;
    std::string_view pattern;  // pattern of the address; empty if there is none
  };
  // Answers a request: 404 if no pattern fits, 405 with Allow if the pattern fits but not the
  // method.
  Answer answer(const Request& request) const;
  // Returns the pattern that answers the request; empty if there is none.
  std::string_view pattern_of(const Request& request) const;

  std::span<const Route> routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace orrery::server
