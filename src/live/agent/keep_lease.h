// One agent per bucket place: a lease in the bucket, renewed while its owner lives.
//
//   PREFIX/.orrery-lease/0000000017    says who holds the place; the highest number counts
// Taking and renewing both write the next number with If-None-Match: *, so if two agents try it one
// is refused. An owner that finds its next number taken has lost the place and stops at once.
//
// The wall clock is not used. An owner counts from its last renewal, on the boot-time clock, which
// cannot be set and includes sleep. Half a lease after its last renewal it does nothing more.
// Another agent takes over only after it has itself watched the lease unchanged for a whole lease.
// An agent with the same id (the same journal on the same boot of the same machine; the journal's
// lock admits one process) takes over without waiting.
//
// A store that ignores the condition is detected when the lease is taken: writing the same number
// again must be refused. Limit: a request that was under way when its owner was stopped for longer
// than a lease can still arrive. That is one reason why removals from a bucket have two steps.
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

  // Takes or renews the lease. Fails with "lifecycle.lease" while it watches another owner's lease
  // (call again), with "lifecycle.busy" if that owner is alive, and with "lifecycle.bucket" if the
  // store failed.
  Result<void> hold();
  void release();

 private:
  struct Found {
    std::uint64_t number = 0;
    std::string owner;  // text of the lease object

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
  bool has_moved_ = false;  // the watched lease was renewed
};

}  // namespace orrery::agent
