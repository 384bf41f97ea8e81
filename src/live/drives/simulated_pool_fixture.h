// A pool's simulated twin: objects in memory, and every fault of the port on demand.
//
// Faults that must be survivable: any call silent, before or after it takes effect; refused; full;
// after a crash, appends that no caller waited for lost or kept up to any byte; any bit flipped,
// any object gone. Not injected: losing acknowledged data in a crash; reordering two appends to one
// object.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "live/drives/pool.h"

namespace orrery::drives {

class SimulatedPool final : public Pool {
 public:
  struct Object {
    std::string bytes;
    std::size_t acked = 0;
    bool named = false;  // at least one append to it was acknowledged
  };
  enum class When {
    before,
    after
  };  // whether the fault comes before or after the call takes
      // effect

  std::uint64_t capacity = ~std::uint64_t{0};
  std::size_t unit = 4096;

  // The next `count` calls meet the fault, after `skip` calls that do not. `call` limits this to
  // one kind ("append", "read", "size", "remove", "list", "space"); empty: calls of any kind.
  void inject(PoolFault kind, int count, const std::string& call = {}, When when = When::before,
              int skip = 0) {
    const std::scoped_lock lock(mutex_);
    for (int i = 0; i < count; ++i) faults_.push_back({kind, call, when, i == 0 ? skip : 0});
  }
  std::size_t faults_left() const {
    const std::scoped_lock lock(mutex_);
    return faults_.size();
  }
  int calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  // Cuts the power. `keeps` says how many unacknowledged bytes of an object are left; nullopt: an
  // object without any acknowledged append is gone.
  void crash(const std::function<std::optional<std::size_t>(const Object&)>& keeps) {
    const std::scoped_lock lock(mutex_);
    for (auto at = objects_.begin(); at != objects_.end();) {
      Object& object = at->second;
      const auto more = keeps(object);
      if (!more && !object.named) {
        at = objects_.erase(at);
        continue;
      }
      const std::size_t left = object.acked + more.value_or(0);
      object.bytes.resize(std::min(object.bytes.size(), left));
      object.acked = object.bytes.size();
      object.named = true;
      ++at;
    }
  }
  std::map<std::string, Object>& objects() { return objects_; }

  std::unique_ptr<Append> append(const std::string& object, std::string_view bytes,
                                 bool fresh) override {
    const std::scoped_lock lock(mutex_);
    const auto met = fault_of("append");
    if (met && met->when == When::before) return failed(*met);
    const auto at = objects_.find(object);
    if (fresh && at != objects_.end()) return failed({.kind = PoolFault::taken});
    if (!fresh && at == objects_.end()) return failed({.kind = PoolFault::absent});
    if (used() + bytes.size() > capacity) return failed({.kind = PoolFault::full});
    Object& to = objects_[object];
    // As in a pool with an erasure code: nothing can follow an append that was not a whole unit.
    if (to.bytes.size() % unit != 0) return failed({.kind = PoolFault::refused});
    to.bytes += bytes;
    if (met) return failed(*met);
    return std::make_unique<Sent>(*this, object, to.bytes.size());
  }
  Said<std::size_t> append_unit() override { return unit; }
  Said<std::string> read(const std::string& object, std::uint64_t offset,
                         std::size_t count) override {
    const std::scoped_lock lock(mutex_);
    if (const auto met = fault_of("read")) return said(*met);
    const auto at = objects_.find(object);
    if (at == objects_.end()) return pool_error(PoolFault::absent, object);
    if (offset >= at->second.bytes.size()) return std::string();
    return at->second.bytes.substr(offset, count);
  }
  Said<std::uint64_t> size(const std::string& object) override {
    const std::scoped_lock lock(mutex_);
    if (const auto met = fault_of("size")) return said(*met);
    const auto at = objects_.find(object);
    if (at == objects_.end()) return pool_error(PoolFault::absent, object);
    return at->second.bytes.size();
  }
  Said<void> remove(const std::string& object) override {
    const std::scoped_lock lock(mutex_);
    const auto met = fault_of("remove");
    if (met && met->when == When::before) return said(*met);
    const bool gone = objects_.erase(object) > 0;
    if (met) return said(*met);
    if (!gone) return pool_error(PoolFault::absent, object);
    return {};
  }
  Said<std::vector<std::string>> list() override {
    const std::scoped_lock lock(mutex_);
    if (const auto met = fault_of("list")) return said(*met);
    std::vector<std::string> names;
    for (const auto& [name, object] : objects_) names.push_back(name);
    return names;
  }
  Said<PoolSpace> space() override {
    const std::scoped_lock lock(mutex_);
    if (const auto met = fault_of("space")) return said(*met);
    return PoolSpace{capacity, capacity - used()};
  }

 private:
  struct Injected {
    PoolFault kind;
    std::string call = {};
    When when = When::before;
    int skip = 0;
  };
  class Sent final : public Append {
   public:
    Sent(SimulatedPool& pool, std::string object, std::size_t end)
        : pool_(pool), object_(std::move(object)), end_(end) {}
    Said<void> wait() override {
      const std::scoped_lock lock(pool_.mutex_);
      const auto at = pool_.objects_.find(object_);
      if (at == pool_.objects_.end()) return {};
      at->second.acked = std::max(at->second.acked, end_);
      at->second.named = true;
      return {};
    }

   private:
    SimulatedPool& pool_;
    std::string object_;
    std::size_t end_;
  };
  class Failed final : public Append {
   public:
    explicit Failed(PoolError why) : why_(std::move(why)) {}
    Said<void> wait() override { return std::unexpected(why_); }

   private:
    PoolError why_;
  };

  static std::unexpected<PoolError> said(const Injected& met) {
    return pool_error(met.kind, "injected");
  }
  static std::unique_ptr<Append> failed(const Injected& met) {
    return std::make_unique<Failed>(PoolError{met.kind, "injected"});
  }
  std::optional<Injected> fault_of(const std::string& call) {
    ++calls_;
    const auto at = std::ranges::find_if(
        faults_, [&](const Injected& of) { return of.call.empty() || of.call == call; });
    if (at == faults_.end() || at->skip-- > 0) return std::nullopt;
    Injected met = std::move(*at);
    faults_.erase(at);
    return met;
  }
  std::uint64_t used() const {
    std::uint64_t bytes = 0;
    for (const auto& [name, object] : objects_) bytes += object.bytes.size();
    return bytes;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;
  std::deque<Injected> faults_;
  int calls_ = 0;
};

// A handle to a pool that outlives the drives opened on it.
class SharedPool final : public Pool {
 public:
  explicit SharedPool(SimulatedPool& pool) : pool_(pool) {}
  std::unique_ptr<Append> append(const std::string& object, std::string_view bytes,
                                 bool fresh) override {
    return pool_.append(object, bytes, fresh);
  }
  Said<std::size_t> append_unit() override { return pool_.append_unit(); }
  Said<std::string> read(const std::string& object, std::uint64_t offset,
                         std::size_t count) override {
    return pool_.read(object, offset, count);
  }
  Said<std::uint64_t> size(const std::string& object) override { return pool_.size(object); }
  Said<void> remove(const std::string& object) override { return pool_.remove(object); }
  Said<std::vector<std::string>> list() override { return pool_.list(); }
  Said<PoolSpace> space() override { return pool_.space(); }

 private:
  SimulatedPool& pool_;
};

}  // namespace orrery::drives
