// The port to one namespace of a RADOS pool: objects that are created, appended to, read and
// removed.
//
// Promises. An append whose wait() succeeded is on the disks of all replicas that the pool has at
// that moment. Before that it may be stored or not; of several appends to one object, the stored
// ones always come first. Calls for one object take effect in the order of the calls. Names are
// those of a drive's files with a few more characters; an object holds at most 128 MiB.
//
// Faults. `silent`: no answer came in time, or the cluster cannot be reached. A silent append may
// still have been carried out, or be carried out later. `refused`: the cluster does not know the
// user, or has no such pool; this says nothing about what is stored. `full` is returned at once
// instead of waiting. read returns whatever is stored: the reader checks whether it is right.
//
// Threads. All calls may come from any thread; those of an Append from one.
//
// Live: ceph_pool.h. Simulated: simulated_pool_fixture.h, which can be silent before or after a
// call takes effect, refuse, fill up, flip bits and forget unacknowledged appends.
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

// An append in progress. If this object is destroyed early, the append continues without a result.
class Append {
 public:
  virtual ~Append() = default;
  virtual Said<void> wait() = 0;
};

struct PoolSpace {
  std::uint64_t total_bytes = 0;  // what the pool holds and could hold, not counting copies
  std::uint64_t free_bytes = 0;
};

class Pool {
 public:
  virtual ~Pool() = default;
  // Appends to the object. `fresh`: creates it first, and fails with `taken` if it exists.
  // Otherwise fails with `absent` if it does not exist.
  virtual std::unique_ptr<Append> append(const std::string& object, std::string_view bytes,
                                         bool fresh) = 0;
  // Every append to an object except the last must be a multiple of this size.
  virtual Said<std::size_t> append_unit() = 0;
  virtual Said<std::string> read(const std::string& object, std::uint64_t offset,
                                 std::size_t count) = 0;  // returns fewer bytes at the end of the
                                                          // object
  virtual Said<std::uint64_t> size(const std::string& object) = 0;
  virtual Said<void> remove(const std::string& object) = 0;
  virtual Said<std::vector<std::string>> list() = 0;  // in no order
  virtual Said<PoolSpace> space() = 0;
};

}  // namespace orrery::drives
