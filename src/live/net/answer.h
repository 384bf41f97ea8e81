// Making the answer to a request, on a handler's thread or in place.
#pragma once

#include <functional>
#include <memory>

#include "live/net/body_pump.h"
#include "live/net/transport.h"

namespace orrery::net {

// An answer and, where its body is streamed, what pumps it; the first piece is made already.
struct Answer {
  Response response;
  std::shared_ptr<BodyPump> pump = nullptr;
};

// A fault in a service is ours: the client gets 500 and the server goes on. What is put off
// (Response::later) is made at once, unless `in_place`.
Answer made(const ServerOptions& options, const Pending& pending,
            const std::function<Response()>& make, bool in_place = false);

// What is to be done with a body; likewise.
BodyPlan planned(const ServerOptions& options, const Service& service, const Request& request);

}  // namespace orrery::net
