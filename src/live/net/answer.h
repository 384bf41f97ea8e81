// Makes the answer to a request, on a handler thread or in place.
#pragma once

#include <functional>
#include <memory>

#include "live/net/body_pump.h"
#include "live/net/transport.h"

namespace orrery::net {

// An answer and, if its body is streamed, its pump, which has made the first piece already.
struct Answer {
  Response response;
  std::shared_ptr<BodyPump> pump = nullptr;
};

// Calls `make`. If it throws, the answer is 500 and the server goes on. A deferred response
// (Response::later) is made at once, unless `in_place`.
Answer made(const ServerOptions& options, const Pending& pending,
            const std::function<Response()>& make, bool in_place = false);

// Asks the service what to do with a body; a plan that throws becomes a 500 likewise.
BodyPlan planned(const ServerOptions& options, const Service& service, const Request& request);

}  // namespace orrery::net
