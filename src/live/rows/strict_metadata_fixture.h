// Rows whose cursors fail the test if they are read or advanced while they are not on a row; plain
// rows in memory would return whatever follows the last row.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "live/rows/metadata.h"

namespace orrery::rows {

class StrictMetadata final : public Metadata {
 public:
  explicit StrictMetadata(Metadata& of) : of_(of) {}

  drives::Outcome<std::optional<std::string>> get(std::string_view key) override {
    return of_.get(key);
  }
  drives::Outcome<bool> commit(const Commit& commit) override { return of_.commit(commit); }
  drives::Outcome<void> flush() override { return of_.flush(); }
  std::unique_ptr<Cursor> cursor() override { return std::make_unique<Strict>(of_.cursor()); }
  bool is_shared() const override { return of_.is_shared(); }
  drives::Outcome<bool> hold_run(std::uint64_t run) override { return of_.hold_run(run); }
  drives::Outcome<bool> is_held(std::uint64_t run) override { return of_.is_held(run); }

 private:
  class Strict final : public Cursor {
   public:
    explicit Strict(std::unique_ptr<Cursor> of) : of_(std::move(of)) {}
    void seek(std::string_view key) override {
      sought_ = true;
      of_->seek(key);
    }
    void next() override {
      if (is_on_row()) of_->next();
    }
    bool valid() const override { return sought_ && of_->valid(); }
    std::string_view key() const override { return is_on_row() ? of_->key() : std::string_view(); }
    std::string_view value() const override {
      return is_on_row() ? of_->value() : std::string_view();
    }
    drives::Outcome<void> state() const override { return of_->state(); }

   private:
    bool is_on_row() const {
      EXPECT_TRUE(valid()) << "a cursor without a row was read";
      return valid();
    }
    std::unique_ptr<Cursor> of_;
    bool sought_ = false;
  };

  Metadata& of_;
};

}  // namespace orrery::rows
