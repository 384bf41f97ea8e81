// The port to one namespace of a RADOS pool: objects that are made, appended to, read and removed.
//
// Promises. An append whose wait() was good is on the disks of all replicas that the pool has at
// that moment; before that it may be there, in part of its object's appends from the front, or not.
// What is called for one object is carried out in the order of the calls. Names are those of
// files of a drive with a few signs more; an object holds 128 MiB at the most.
//
// Faults. `silent`: nobody answered in time, or the cluster cannot be reached. An append that was
// silent may have been carried out all the same, or be carried out later. `refused`: the cluster
// knows us not, or has no such pool; neither says anything of what is stored. `full` is answered at
// once, not waited out. read gives what is there: that it is right is for the reader to check.
//
// Threads. All calls from any thread; those of an Append from one.
//
// Live: ceph_pool.h. Simulated: simulated_pool_fixture.h, which is silent before and after the
// deed, refuses, fills, flips and forgets what was not acknowledged.
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

// One that is on its way; dropped, it goes on and nobody hears of it.
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
  // At the end of the object. `fresh`: it is made, and `taken` where it is there already; else it
  // is `absent` where it is not.
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
