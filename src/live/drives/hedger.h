// The live driver of hedge.h: knows what was seen of the drives, and reads those that are suspect
// on threads of their own, so that who waits for one may go to the others.
//
// Threads. All calls from any thread. A read that nobody waits for any more goes on until its drive
// answers; there are at most `at_once_max` of them, and the destructor waits for them, for they use
// their drives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "live/drives/drive.h"
#include "live/drives/hedge.h"

namespace orrery::drives {

// A read under way, and its file, which is the reader's again once it is done.
class SlowRead {
 public:
  struct Result {
    Outcome<std::string> bytes = std::string();
    std::shared_ptr<DriveFile> file = nullptr;
  };
  bool is_done() const;
  bool wait_for(Micros time) const;  // false: it is not done yet
  const Result& wait() const;

 private:
  friend class Hedger;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::optional<Result> result_;
};

struct HedgeCounts {
  std::uint64_t asked = 0;  // reads whose others were asked too
  std::uint64_t won = 0;    // ... and answered first
  int suspects = 0;         // drives that are slow now
};

class Hedger {
 public:
  explicit Hedger(HedgeRule rule = {}) : rule_(rule) {}
  ~Hedger();
  Hedger(const Hedger&) = delete;
  Hedger& operator=(const Hedger&) = delete;

  void note(const std::string& drive, Micros took);
  bool suspects(const std::string& drive) const;
  // Reads a suspect drive beside the caller; null where the drive is to be read as any.
  struct Begun {
    std::shared_ptr<const SlowRead> read;
    Micros delay{0};
  };
  std::optional<Begun> begin(const std::string& drive, std::function<SlowRead::Result()> read);
  void count(bool won);
  HedgeCounts counts() const;

 private:
  const HedgeRule rule_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  SeenTimes seen_;
  std::map<std::string, DriveTrust> trust_;  // of those that were slow once
  int under_way_ = 0;
  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::uint64_t> won_ = 0;
};

}  // namespace orrery::drives
