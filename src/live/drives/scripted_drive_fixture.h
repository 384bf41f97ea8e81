// A drive that records the calls to it, and returns faults that a test has set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/drives/simulated_drive_fixture.h"

namespace orrery::drives {

class ScriptedDrive final : public Drive {
 public:
  struct Record {
    std::vector<std::uint64_t> expected = {};
    int appends = 0;
    std::uint64_t bytes = 0;
    int open = 0;  // files that are open now
  };
  std::optional<Fault> create_fault;
  std::optional<Fault> append_fault;
  std::optional<Fault> open_fault;
  bool remote = false;
  Record record;
  SimulatedDrive under;

  Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) override {
    if (create_fault) return std::unexpected(*create_fault);
    return wrapped(under.create(name));
  }
  Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) override {
    if (open_fault) return std::unexpected(*open_fault);
    return wrapped(under.open(name));
  }
  Outcome<void> remove(const std::string& name) override { return under.remove(name); }
  Outcome<std::vector<std::string>> list() override { return under.list(); }
  Outcome<DriveSpace> space() override { return under.space(); }
  bool is_remote() const override { return remote; }

 private:
  class File final : public DriveFile {
   public:
    File(ScriptedDrive& of, std::unique_ptr<DriveFile> file) : of_(of), file_(std::move(file)) {
      ++of_.record.open;
    }
    ~File() override { --of_.record.open; }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void expect(std::uint64_t bytes) override { of_.record.expected.push_back(bytes); }
    Outcome<void> append(std::span<const std::string_view> pieces) override {
      if (of_.append_fault) return std::unexpected(*of_.append_fault);
      ++of_.record.appends;
      for (const std::string_view piece : pieces) of_.record.bytes += piece.size();
      return file_->append(pieces);
    }
    using DriveFile::read;
    Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
      return file_->read(offset, into);
    }
    Outcome<void> sync() override { return file_->sync(); }

   private:
    ScriptedDrive& of_;
    std::unique_ptr<DriveFile> file_;
  };
  Outcome<std::unique_ptr<DriveFile>> wrapped(Outcome<std::unique_ptr<DriveFile>> file) {
    if (!file) return file;
    return std::make_unique<File>(*this, std::move(*file));
  }
};

}  // namespace orrery::drives
