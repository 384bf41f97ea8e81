// The metadata's simulated twin: rows in memory, a log of commits, a crash that loses unsynced
// commits, and a power supply that fails at a chosen call.
//
// Faults that must be survivable: losing commits that were not durable, newest first; a commit with
// unknown outcome when the power fails during it. Not injected: losing durable commits.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "live/drives/power_fixture.h"
#include "live/rows/metadata.h"

namespace orrery::rows {

class MemoryMetadata final : public Metadata {
 public:
  explicit MemoryMetadata(drives::Power* power = nullptr) : power_(power) {}

  drives::Outcome<std::optional<std::string>> get(std::string_view key) override {
    const std::scoped_lock lock(mutex_);
    if (power_ && power_->gone()) return drives::fault(drives::PortFault::failed, "no power");
    const auto at = rows_.find(std::string(key));
    if (at == rows_.end()) return std::nullopt;
    return at->second;
  }

  drives::Outcome<bool> commit(const Commit& commit) override {
    const std::scoped_lock lock(mutex_);
    if (power_ && power_->gone()) return drives::fault(drives::PortFault::failed, "no power");
    for (const RowChange& expected : commit.expects) {
      const auto at = rows_.find(expected.key);
      const bool same = at == rows_.end() ? !expected.value : expected.value == at->second;
      if (!same) return false;
    }
    for (const RowChange& change : commit.changes) apply(rows_, change);
    pending_.push_back(commit);
    if (std::exchange(loses_answer_, false))
      return drives::fault(drives::PortFault::failed, "no answer came");
    if (power_ && power_->fails()) return drives::fault(drives::PortFault::failed, "no power");
    if (commit.durable) sync();
    return true;
  }

  drives::Outcome<void> flush() override {
    const std::scoped_lock lock(mutex_);
    if (power_ && power_->fails()) return drives::fault(drives::PortFault::failed, "no power");
    sync();
    return {};
  }

  // Restores the power: keeps the durable rows and the first `kept` of the later commits.
  void crash(std::size_t kept) {
    rows_ = durable_;
    for (std::size_t i = 0; i < std::min(kept, pending_.size()); ++i) {
      for (const RowChange& change : pending_[i].changes) apply(rows_, change);
    }
    durable_ = rows_;
    pending_.clear();
  }
  // Makes the next commit take effect without an answer to its caller.
  void lose_answer() { loses_answer_ = true; }
  std::size_t pending() const { return pending_.size(); }

  std::unique_ptr<Cursor> cursor() override {
    const std::scoped_lock lock(mutex_);
    return std::make_unique<MemoryCursor>(rows_);
  }

  // Simulates several gateways on the same rows. A gateway whose run is no longer held may still be
  // alive.
  void share() { shared_ = true; }
  void lose_sight_of(std::uint64_t run) { held_.erase(run); }
  bool is_shared() const override { return shared_; }
  drives::Outcome<bool> hold_run(std::uint64_t run) override {
    held_.insert(run);
    return true;
  }
  drives::Outcome<bool> is_held(std::uint64_t run) override {
    return shared_ && held_.contains(run);
  }

 private:
  using Rows = std::map<std::string, std::string>;

  class MemoryCursor final : public Cursor {
   public:
    explicit MemoryCursor(Rows rows) : rows_(std::move(rows)), at_(rows_.end()) {}
    void seek(std::string_view key) override { at_ = rows_.lower_bound(std::string(key)); }
    void next() override { ++at_; }
    bool valid() const override { return at_ != rows_.end(); }
    std::string_view key() const override { return at_->first; }
    std::string_view value() const override { return at_->second; }
    drives::Outcome<void> state() const override { return {}; }

   private:
    Rows rows_;
    Rows::iterator at_;
  };

  static void apply(Rows& rows, const RowChange& change) {
    if (change.value) {
      rows[change.key] = *change.value;
    } else {
      rows.erase(change.key);
    }
  }
  void sync() {
    durable_ = rows_;
    pending_.clear();
  }

  drives::Power* power_;
  std::mutex mutex_;
  Rows rows_;
  Rows durable_;
  std::vector<Commit> pending_;
  bool loses_answer_ = false;
  bool shared_ = false;
  std::set<std::uint64_t> held_;
};

}  // namespace orrery::rows
