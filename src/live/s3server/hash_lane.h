// A second thread next to the one that receives an upload. It computes digests of a piece while the
// first thread checks, splits and writes the same bytes, so that a large object takes as long as
// the slower of the two, not their sum.
//
// One piece at a time: begin() hands it over, and wait() returns when it is done. The bytes belong
// to the caller and must stay in place until then. If an upload ends in between, the destructor
// waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace orrery::s3server {

class HashLane {
 public:
  HashLane() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~HashLane() {
    thread_.request_stop();
    changed_.notify_all();
  }
  HashLane(const HashLane&) = delete;
  HashLane& operator=(const HashLane&) = delete;

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
  std::jthread thread_;  // last, because it uses all members above
};

}  // namespace orrery::s3server
