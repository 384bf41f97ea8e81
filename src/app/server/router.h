// Which function answers which address: a table of methods and patterns.
//
// A pattern is a path whose parts in braces take any one part ("/api/v1/jobs/{id}"). Parts are
// compared as sent: ids are lower case with hyphens, so nothing that would need decoding, and no
// "..", names anything. docs/api/openapi.yaml lists the same addresses; a test compares both.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/server/message.h"

namespace orrery::server {

using PathValues = std::vector<std::string>;  // of the parts in braces, in their order

struct Route {
  std::string method;  // GET answers HEAD too
  std::string pattern;
  std::function<Response(const Request&, const PathValues&)> answer;
};

class RequestRouter {
 public:
  explicit RequestRouter(std::vector<Route> routes) : routes_(std::move(routes)) {}

  struct Answer {
    Response response;
    std::string_view pattern;  // of the address; empty where there is none
  };
  // 404 where no pattern fits, 405 with Allow where one does and the method does not.
  Answer answer(const Request& request) const;
  // The pattern that answers the request; empty where none does.
  std::string_view pattern_of(const Request& request) const;

  std::span<const Route> routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace orrery::server
