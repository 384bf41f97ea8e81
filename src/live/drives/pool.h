// The port to one namespace of a RADOS pool: objects that are made, appended to, read and removed.
//
// Promises. An append whose wait() was good is on the disks of all replicas that the pool has at
// that moment; before that it may be there, in part of its object's appends from the front, or not.
// Calls for one object take effect in the order of the calls. Names are those of a drive's files
// with a few more characters; an object holds at most 128 MiB.
//
// Faults. `silent`: no answer came in time, or the cluster cannot be reached. A silent append may
// still have been carried out, or be carried out later. `refused`: the cluster does not know us, or
// has no such pool; neither says anything about what is stored. `full` is returned at once, not
// waited out. read returns what is there: the reader checks whether it is right.
//
// Threads. All calls from any thread; those of an Append from one.
//
// Live: ceph_pool.h. Simulated: simulated_pool_fixture.h, which is silent before or after the call
// takes effect, refuses, fills, flips and forgets what was not acknowledged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::drives {

enum class PoolFault { absent, taken, full, silent, refused, broken };

struct PoolError {
  PoolFault kind = PoolFault::broken;
  std::string what;
};

template <class T>
using Said = std::expected<T, PoolError>;

inline std::unexpected<PoolError> pool_error(PoolFault kind, std::string what) {
  return std::unexpected(PoolError{kind, std::move(what)});
}

// An append in progress. If it is dropped, the append goes on without a result.
class Append {
 public:
  virtual ~Append() = default;
  virtual Said<void> wait() = 0;
};

struct PoolSpace {
  std::uint64_t total_bytes = 0;  // what the pool holds and could hold, copies not counted
  std::uint64_t free_bytes = 0;
};

class Pool {
 public:
  virtual ~Pool() = default;
  // Appends to the object. `fresh`: makes it first, and fails with `taken` if it exists; otherwise
  // fails with `absent` if it does not.
  virtual std::unique_ptr<Append> append(const std::string& object, std::string_view bytes,
                                         bool fresh) = 0;
  // Appends to an object are multiples of this, but for the last one.
  virtual Said<std::size_t> append_unit() = 0;
  virtual Said<std::string> read(const std::string& object, std::uint64_t offset,
                                 std::size_t count) = 0;  // fewer at its end
  virtual Said<std::uint64_t> size(const std::string& object) = 0;
  virtual Said<void> remove(const std::string& object) = 0;
  virtual Said<std::vector<std::string>> list() = 0;  // in no order
  virtual Said<PoolSpace> space() = 0;
};

}  // namespace orrery::drives
