#include "live/drives/hedger.h"

#include <algorithm>
#include <system_error>
#include <thread>

namespace orrery::drives {

bool SlowRead::is_done() const { return wait_for(Micros{0}); }

bool SlowRead::wait_for(Micros time) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return result_.has_value(); });
}

const SlowRead::Result& SlowRead::wait() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

Hedger::~Hedger() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return under_way_ == 0; });
}

void Hedger::note(const std::string& drive, Micros took) {
  const std::scoped_lock lock(mutex_);
  const auto at = trust_.find(drive);
  const DriveTrust before = at == trust_.end() ? DriveTrust{} : at->second;
  const DriveTrust now = trust_after(rule_, seen_, before, took);
  // The read times of a suspect drive do not count as usual times.
  if (!now.suspect) seen_.add(took);
  if (at != trust_.end()) {
    at->second = now;
  } else if (now.suspect) {
    trust_.emplace(drive, now);
  }
}

bool Hedger::suspects(const std::string& drive) const {
  const std::scoped_lock lock(mutex_);
  const auto at = trust_.find(drive);
  return at != trust_.end() && at->second.suspect;
}

std::optional<Hedger::Begun> Hedger::begin(const std::string& drive,
                                           std::function<SlowRead::Result()> read) {
  std::optional<Micros> delay;
  {
    const std::scoped_lock lock(mutex_);
    const auto at = trust_.find(drive);
    if (at != trust_.end()) delay = hedge_delay(rule_, seen_, at->second, under_way_);
    if (!delay) return std::nullopt;
    ++under_way_;
  }
  const auto slow = std::make_shared<SlowRead>();
  auto work = [this, slow, drive, read = std::move(read)] {
    const auto begun = std::chrono::steady_clock::now();
    auto result = read();
    note(drive, std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - begun));
    {
      const std::scoped_lock lock(slow->mutex_);
      slow->result_ = std::move(result);
    }
    slow->ended_.notify_all();
    const std::scoped_lock lock(mutex_);
    --under_way_;
    ended_.notify_all();  // under the lock, because the hedger may be destroyed as soon as it is
                          // released
  };
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {  // no thread is available: the drive is read as usual
    const std::scoped_lock lock(mutex_);
    --under_way_;
    return std::nullopt;
  }
  return Begun{slow, *delay};
}

void Hedger::count(bool won) {
  ++asked_;
  if (won) ++won_;
}

HedgeCounts Hedger::counts() const {
  const std::scoped_lock lock(mutex_);
  const auto suspects =
      std::ranges::count_if(trust_, [](const auto& t) { return t.second.suspect; });
  return {asked_, won_, static_cast<int>(suspects)};
}

}  // namespace orrery::drives
