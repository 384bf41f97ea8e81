// One agent per bucket place: a lease in the bucket, renewed while its owner lives.
//
//   PREFIX/.orrery-lease/0000000017    says who holds the place; the highest number counts
// Taking and renewing both write the next number with If-None-Match: *, so that of any two agents
// that want it one is refused. An owner that finds its next number taken has lost the place and
// stops at once.
//
// No wall clock is asked. An owner counts from its last renewal, on a clock that nobody can set and
// that runs on while the machine sleeps; half a lease later without a renewal it does nothing more.
// Another agent must itself have watched the lease stand still for a whole lease before it takes
// over. An agent with the same id (the same journal on the same boot of the same machine, which the
// journal's lock gives to one process alone) takes over without waiting.
//
// A store that ignores the condition is found out when the lease is taken: its own number is
// written once more, and must be refused. Where it ends: a request that was on its way when its
// owner was stopped for longer than a lease can still arrive. That is one more reason why removals
// from a bucket have two steps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "live/agent/keep_store.h"

namespace orrery::agent {

inline constexpr Seconds kLeaseLasts = seconds(60);
inline constexpr Seconds kLeaseRenew = seconds(15);

class BucketLease {
 public:
  // `prefix` ends in '/' or is empty.
  BucketLease(std::shared_ptr<s3::Client> client, const std::string& prefix, KeepOwner owner,
              std::function<Seconds()> up);

  // Takes or renews it. "lifecycle.lease": not yet, another owner's is being watched; ask again.
  // "lifecycle.busy": its owner is alive. "lifecycle.bucket": the store could not be asked.
  Result<void> hold();
  void release();

 private:
  struct Found {
    std::uint64_t number = 0;
    std::string owner;  // its text

    bool operator==(const Found&) const = default;
  };
  Result<Found> find();
  Result<void> take();
  Result<void> renew();
  Result<void> check_conditions();
  std::unexpected<Diagnostics> busy(const Found& found, const char* code) const;
  std::string key_of(std::uint64_t number) const;

  std::shared_ptr<s3::Client> client_;
  std::string folder_;
  KeepOwner owner_;
  std::function<Seconds()> up_;
  bool is_held_ = false;
  bool is_checked_ = false;
  std::uint64_t number_ = 0;
  Seconds renewed_;
  std::optional<Found> watched_;
  Seconds watched_since_;
  bool has_moved_ = false;  // the one that is watched
};

}  // namespace orrery::agent
