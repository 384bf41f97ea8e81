// How much work a request may be, and how much of it goes on at once, so that nobody waits behind
// somebody else's large design.
//
//   quick   answered on the thread of the sockets: texts that are there, and what watches the
//   server usual   on a handler's thread: the review of a design, an edit, a job large   on a
//   handler's thread too, but only a few at once; a few more wait, and others are
//           told to come again (503). So a handler's thread is always left for what is usual.
// Simulated requests of a view end once their client has gone, or after kLargeCpuMost of CPU time:
// such a question belongs into a job (POST /api/v1/runs).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>

#include "app/server/message.h"

namespace orrery::server {

enum class Work { quick, usual, large };
// By the pattern of the address (router.h).
Work work_of(std::string_view pattern);

inline constexpr double kLargeCpuMost = 10;  // seconds of one request

// True once the client has gone, or the calling thread has used `cpu_s` more seconds of CPU time
// than it had when this was made. It stays true.
std::function<bool()> stop_of(const Request& request, double cpu_s = kLargeCpuMost);

class LargeGate {
 public:
  // At most `running` at once, and `waiting` more that wait for their turn.
  LargeGate(int running, int waiting) : running_most_(running), waiting_most_(waiting) {}

  // The right to do large work, given back when it ends.
  class Turn {
   public:
    explicit Turn(LargeGate* gate) : gate_(gate) {}
    ~Turn() {
      if (gate_ != nullptr) gate_->leave();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return gate_ != nullptr; }

   private:
    LargeGate* gate_;
  };
  // Waits for a turn. Returns none if too many wait already, or if `gone` says so meanwhile.
  Turn enter(const std::function<bool()>& gone);

 private:
  void leave();

  const int running_most_;
  const int waiting_most_;
  std::mutex mutex_;
  std::condition_variable freed_;
  int running_ = 0;
  int waiting_ = 0;
};

}  // namespace orrery::server
