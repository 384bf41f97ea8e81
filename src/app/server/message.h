// The request and response types of net/, and what the console adds to them.
//
// Handlers turn a request into a response and know nothing of sockets, so every route is tested as
// a function call.
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

// Returns server options for responses that a browser may open: headers that restrict what a page
// can do, and refusals as problem+json.
net::ServerOptions browser_options();

}  // namespace orrery::server
