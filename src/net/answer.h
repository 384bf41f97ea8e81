// Making the answer to a request, and where: on a handler's thread, or in a seat on a thread that
// does I/O.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "net/body_pump.h"
#include "net/transport.h"

namespace orrery::net {

// An answer and, where its body is streamed, what pumps it; the first piece is made already.
struct Answer {
  Response response;
  std::shared_ptr<BodyPump> pump = nullptr;
};

// A fault in a service is ours: the client gets 500 and the server goes on.
Answer made(const ServerOptions& options, const Pending& pending,
            const std::function<Response()>& make);

// A handler that may run where its request was read, for as long as it lives.
class Seat {
 public:
  explicit Seat(std::atomic<int>& seats) : seats_(seats), has_one_(seats.fetch_sub(1) > 0) {
    if (!has_one_) ++seats_;
  }
  ~Seat() {
    if (has_one_) ++seats_;
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  explicit operator bool() const { return has_one_; }

 private:
  std::atomic<int>& seats_;
  bool has_one_;
};

}  // namespace orrery::net
