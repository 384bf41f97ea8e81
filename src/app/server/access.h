// Access control for a server on 127.0.0.1.
//
// Any page that a browser has open can send requests to a local port, and a name that an attacker
// owns can be made to resolve to 127.0.0.1 (DNS rebinding). Therefore Host must be ours, Origin
// must be ours if present, and every route except /healthz needs a secret. The secret comes once in
// the URL that `orrery serve` prints; the answer puts it into a cookie and redirects, so that it
// does not stay in the address bar or the history. Scripts send it as `Authorization: Bearer`.
#pragma once

#include <optional>
#include <string>

#include "app/server/message.h"

namespace orrery::server {

struct AccessRules {
  int port = 0;
  std::string token;
};

// Returns the refusal of a request whose Host is not ours or is given twice: another server on the
// way may have believed the other one. Returns nullopt if Host is good.
std::optional<Response> check_host(const Request& request, int port);

// Returns the refusal or redirect that ends the request, or nullopt to pass it to the routes.
std::optional<Response> check_access(const Request& request, const AccessRules& rules);

// "http://127.0.0.1:8117/?token=..."
std::string first_url(const AccessRules& rules);

}  // namespace orrery::server
