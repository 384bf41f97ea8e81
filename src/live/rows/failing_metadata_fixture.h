// Rows that fail at one chosen call: a get, a commit, a flush or a cursor. A failed commit changes
// nothing. They can also refuse a number of commits, as if other gateways had changed the rows
// first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "live/rows/metadata.h"

namespace orrery::rows {

class FailingMetadata final : public Metadata {
 public:
  explicit FailingMetadata(Metadata& of) : of_(of) {}

  // Makes one later call fail: 0 is the next one.
  void fail_at(int call, drives::PortFault kind = drives::PortFault::failed) {
    left_ = call;
    kind_ = kind;
    failed_ = false;
  }
  bool has_failed() const { return failed_; }
  // Makes the next `times` commits lose a race.
  void come_late(int times) { late_ = times; }
  int still_late() const { return late_; }

  drives::Outcome<std::optional<std::string>> get(std::string_view key) override {
    if (fails()) return drives::fault(kind_, "injected");
    return of_.get(key);
  }
  drives::Outcome<bool> commit(const Commit& commit) override {
    if (fails()) return drives::fault(kind_, "injected");
    if (late_ > 0) return --late_, false;
    return of_.commit(commit);
  }
  drives::Outcome<void> flush() override {
    if (fails()) return drives::fault(kind_, "injected");
    return of_.flush();
  }
  std::unique_ptr<Cursor> cursor() override {
    if (fails()) return std::make_unique<NoCursor>(kind_);
    return of_.cursor();
  }

 private:
  class NoCursor final : public Cursor {
   public:
    explicit NoCursor(drives::PortFault kind) : kind_(kind) {}
    void seek(std::string_view) override {}
    void next() override {}
    bool valid() const override { return false; }
    std::string_view key() const override { return {}; }
    std::string_view value() const override { return {}; }
    drives::Outcome<void> state() const override { return drives::fault(kind_, "injected"); }

   private:
    drives::PortFault kind_;
  };

  bool fails() {
    if (left_ < 0 || left_-- > 0) return false;
    failed_ = true;
    return true;
  }

  Metadata& of_;
  int left_ = -1;
  drives::PortFault kind_ = drives::PortFault::failed;
  bool failed_ = false;
  int late_ = 0;
};

}  // namespace orrery::rows
