// A second thread beside one that takes bytes: it does one piece of work at a time while the first
// goes on, so that together they cost the longer of the two and not both.
//
// begin() hands the work over, where none is under way; wait() returns when it is done. What it
// works on is the caller's and stays where it is. The destructor waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace orrery::net {

class SideThread {
 public:
  SideThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~SideThread() {
    thread_.request_stop();
    changed_.notify_all();
  }
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  void begin(std::function<void()> work) {
    {
      const std::scoped_lock lock(mutex_);
      work_ = std::move(work);
    }
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return work_ == nullptr; });
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, stop, [this] { return work_ != nullptr; });
      if (work_ == nullptr) return;
      lock.unlock();
      work_();
      lock.lock();
      work_ = nullptr;
      done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable done_;
  std::function<void()> work_ = nullptr;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace orrery::net
