// The words of a request and a response, which are net/'s, and what the console adds to them.
//
// Handlers turn one into the other and know nothing of sockets, so every route is tested as a
// function call.
#pragma once

#include <string>

#include "live/net/message.h"
#include "live/net/server.h"

namespace orrery::server {

using net::Handler;
using net::NextEvents;
using net::path_of;
using net::query_value;
using net::Request;
using net::Response;
using net::ServerLoad;

Response json_response(std::string body, int status = 200);

// For what a browser may open: headers that let a page do nothing but what it is meant to, and
// refusals as problem+json.
net::ServerOptions browser_options();

}  // namespace orrery::server
