// The live driver of hedge.h: records the read times of the drives, and reads suspect drives on
// separate threads, so that a reader that waits for one can use the others.
//
// Threads. All calls may come from any thread. A read that its reader has abandoned continues until
// its drive answers. There are at most `at_once_max` such reads, and the destructor waits for them,
// because they use their drives.
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

// A read in progress, with its file. The reader owns the file again when the read is done.
class SlowRead {
 public:
  struct Result {
    Outcome<std::string> bytes = std::string();
    std::shared_ptr<DriveFile> file = nullptr;
  };
  bool is_done() const;
  bool wait_for(Micros time) const;  // Returns false if the read is not done after `time`.
  const Result& wait() const;

 private:
  friend class Hedger;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::optional<Result> result_;
};

struct HedgeCounts {
  std::uint64_t asked = 0;  // reads for which other drives were read too
  std::uint64_t won = 0;    // hedged reads that the other drives answered first
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
  // Starts a background read of a suspect drive; nullopt if the drive should be read as usual.
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
  std::map<std::string, DriveTrust> trust_;  // by drive; only drives that have been slow
  int under_way_ = 0;
  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::uint64_t> won_ = 0;
};

}  // namespace orrery::drives
