// Makes the answer to a request, on a handler thread or in place.
#pragma once

#include <functional>
#include <memory>

#include "live/net/body_pump.h"
#include "live/net/transport.h"

namespace orrery::net {

// An answer. If its body is streamed, also the pump, which has already made the first piece.
struct Answer {
  Response response;
  std::shared_ptr<BodyPump> pump = nullptr;
};

// Calls `make`. If it throws, the answer is 500 and the server keeps running. A deferred response
// (Response::later) is computed at once, unless `in_place`.
Answer made(const ServerOptions& options, const Pending& pending,
            const std::function<Response()>& make, bool in_place = false);

// Asks the service what to do with a body. If the service throws, the plan is a 500 as well.
BodyPlan planned(const ServerOptions& options, const Service& service, const Request& request);

}  // namespace orrery::net
