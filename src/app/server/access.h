// Who may speak to a server on 127.0.0.1.
//
// Any page that a browser has open can send requests to a local port, and a name that an attacker
// owns can be made to resolve to 127.0.0.1 (DNS rebinding). So: Host must be ours, Origin must be
// ours when there is one, and every route but /healthz wants a secret. The secret comes once in the
// URL that `orrery serve` prints; the answer puts it into a cookie and redirects, so that it does
// not stay in the address bar or the history. Scripts send it as `Authorization: Bearer`.
#pragma once

#include <optional>
#include <string>

#include "app/server/message.h"

namespace orrery::server {

struct AccessRules {
  int port = 0;
  std::string token;
};

// The refusal of a request whose Host is not ours, or stands twice: which of the two another server
// on the way believed cannot be known.
std::optional<Response> check_host(const Request& request, int port);

// The refusal or redirect that ends the request here; nullopt lets it through to the routes.
std::optional<Response> check_access(const Request& request, const AccessRules& rules);

// "http://127.0.0.1:8117/?token=..."
std::string first_url(const AccessRules& rules);

}  // namespace orrery::server
