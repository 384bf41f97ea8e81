#include "layers/storage/drive_lives.h"

#include <algorithm>
#include <vector>

#include "core/base/math.h"
#include "core/base/random.h"
#include "core/sim/kernel.h"

namespace orrery::storage {
namespace {

// Length of a rebuild on the kernel's clock; with real lengths the clock would reach its limit of
// 292 years.
constexpr Seconds kRebuildOnClock = milliseconds(1);

// Shards i x s .. i x s + s - 1 of the group are on server i.
class DriveGroup final : public sim::EventHandler {
 public:
  DriveGroup(sim::Kernel& kernel, const DriveTrial& trial)
      : kernel_(kernel),
        trial_(trial),
        random_(trial.seed, "storage/drives"),
        scale_(kRebuildOnClock / trial.group.rebuild),
        timers_(static_cast<std::size_t>(trial.group.shards)),
        is_lost_(static_cast<std::size_t>(trial.group.shards), false) {
    const DurabilityQuestion& q = trial.group;
    unreadable_ = q.rebuild_reads > Bytes(0)
                      ? -math::expm1(-q.rebuild_reads.base() * 8 * q.bit_error_rate)
                      : 0;
    for (int d = 0; d < q.shards; ++d) expect_failure(d);
    for (int s = 0; s < servers(); ++s) expect_server_loss(s);
  }

  void on_event(sim::Kernel&, std::uint32_t kind, std::uint64_t data) override {
    const int which = static_cast<int>(data);
    switch (kind) {
      case kFails:
        ++outcome_.failures;
        lose(which);
        break;
      case kRebuilt:
        rebuilt(which);
        break;
      default:
        for (int d = which * on_server(); d < std::min((which + 1) * on_server(), shards()); ++d) {
          lose(d);
        }
        expect_server_loss(which);
    }
    if (lost_ > trial_.group.losses) data_lost();
  }

  DriveOutcome outcome() const {
    DriveOutcome o = outcome_;
    if (o.losses > 0) o.mean_time_to_loss = last_loss_.seconds() / (scale_ * o.losses);
    o.is_whole = o.losses >= trial_.losses;
    return o;
  }

 private:
  enum Kind : std::uint32_t { kFails, kRebuilt, kServerLost };

  int shards() const { return trial_.group.shards; }
  int on_server() const { return std::max(1, trial_.group.shards_on_server); }
  int servers() const {
    return trial_.group.server_losses > PerSecond(0) ? shards() / on_server() : 0;
  }

  void set(int drive, Seconds in, Kind kind) {
    auto& timer = timers_[static_cast<std::size_t>(drive)];
    kernel_.cancel(timer);
    timer = kernel_.schedule(kernel_.now().after(in * scale_), sim::EventRank::finish, *this, kind,
                             static_cast<std::uint64_t>(drive));
  }

  void expect_failure(int drive) {
    set(drive, Seconds(random_.exponential(1 / trial_.group.drive_failures.base())), kFails);
  }

  void expect_server_loss(int server) {
    const double mean = 1 / trial_.group.server_losses.base();
    kernel_.schedule(kernel_.now().after(Seconds(random_.exponential(mean) * scale_)),
                     sim::EventRank::finish, *this, kServerLost,
                     static_cast<std::uint64_t>(server));
  }

  void lose(int drive) {
    if (is_lost_[static_cast<std::size_t>(drive)]) return;
    is_lost_[static_cast<std::size_t>(drive)] = true;
    ++lost_;
    const Seconds mean = trial_.group.rebuild;
    set(drive, trial_.rebuilds_alike ? mean : Seconds(random_.exponential(mean.base())), kRebuilt);
  }

  void rebuilt(int drive) {
    // No redundancy left to correct errors with.
    const bool was_last = lost_ == trial_.group.losses;
    if (was_last && random_.uniform() < unreadable_) return data_lost();
    is_lost_[static_cast<std::size_t>(drive)] = false;
    --lost_;
    expect_failure(drive);
  }

  void data_lost() {
    ++outcome_.losses;
    last_loss_ = kernel_.now();
    if (outcome_.losses >= trial_.losses) return kernel_.stop();
    lost_ = 0;
    is_lost_.assign(is_lost_.size(), false);
    for (int d = 0; d < shards(); ++d) expect_failure(d);
  }

  sim::Kernel& kernel_;
  const DriveTrial& trial_;
  RandomStream random_;
  double scale_;
  std::vector<sim::TimerId> timers_;
  std::vector<bool> is_lost_;
  double unreadable_ = 0;
  int lost_ = 0;
  sim::SimTime last_loss_;
  DriveOutcome outcome_;
};

}  // namespace

DriveOutcome live_through(const DriveTrial& trial) {
  sim::Kernel kernel(trial.seed);
  DriveGroup group(kernel, trial);
  while (kernel.events_run() < trial.events_most && !group.outcome().is_whole && kernel.step()) {
  }
  return group.outcome();
}

}  // namespace orrery::storage
