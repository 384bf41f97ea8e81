// The work that a request causes, and how much of it runs at once, so that no request waits behind
// another user's large design.
//
//   quick   answered on the thread of the sockets: stored texts, and what watches the server
//   usual   answered by a handler thread: the review of a design, an edit, a job
//   large   answered by a handler thread too, but only a few at once. A few more wait; others are
//           asked to retry (503). A handler thread is therefore always left for usual work.
//
// Simulated requests of a view end once their client has gone, or after kLargeCpuMost of CPU time;
// a longer simulation belongs into a job (POST /api/v1/runs).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string_view>

#include "app/server/message.h"

namespace orrery::server {

enum class Work { quick, usual, large };
// Returns the class of work of an address pattern (router.h).
Work work_of(std::string_view pattern);

inline constexpr double kLargeCpuMost = 10;  // CPU seconds of one request

// Returns a function that is true once the client has gone, or once the calling thread has used
// `cpu_s` more seconds of CPU time. It stays true.
std::function<bool()> stop_of(const Request& request, double cpu_s = kLargeCpuMost);

class LargeGate {
 public:
  // At most `running` requests at once, and `waiting` more that wait for their turn.
  LargeGate(int running, int waiting) : running_most_(running), waiting_most_(waiting) {}

  // The permission to do large work; returned at destruction.
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
  // Waits for a turn. Returns none if too many wait already, or if `gone` becomes true.
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
