// A drive's simulated twin: files in memory that tear, vanish, flip and fill on demand.
//
// Faults that must be survivable: after a crash, unsynced bytes lost or torn at any byte, unsynced
// names gone and removed files back; slow reads; any bit flipped, a file gone or truncated, the
// whole drive gone, as long as no stripe loses more shards than it has parity; no space; errors.
// Not injected: losing synced data in a crash.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "live/drives/drive.h"
#include "live/drives/power_fixture.h"

namespace orrery::drives {

class SimulatedDrive final : public Drive {
 public:
  struct Content {
    std::string bytes;
    std::size_t synced = 0;
    bool named = false;  // the name is durable
  };
  using Files = std::map<std::string, std::shared_ptr<Content>>;

  explicit SimulatedDrive(Power* power = nullptr) : power_(power) {}

  std::uint64_t capacity = ~std::uint64_t{0};
  bool broken = false;           // every call fails
  std::atomic<int> slow_ms = 0;  // duration of a read in milliseconds
  std::atomic<int> reads = 0;    // number of reads begun

  Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) override {
    if (fails()) return fault(PortFault::failed, "no power");
    if (files_.contains(name)) return fault(PortFault::failed, "exists");
    files_[name] = std::make_shared<Content>();
    return std::make_unique<File>(*this, files_[name]);
  }
  Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) override {
    if (broken || (power_ && power_->gone())) return fault(PortFault::failed, "no power");
    for (Files* among : {&files_, &aside_}) {
      const auto at = among->find(name);
      if (at != among->end()) return std::make_unique<File>(*this, at->second);
    }
    return fault(PortFault::missing, name);
  }
  Outcome<void> remove(const std::string& name) override {
    if (fails()) return fault(PortFault::failed, "no power");
    const auto at = files_.find(name);
    if (at == files_.end()) return {};
    if (at->second->named) removed_[name] = at->second;
    files_.erase(at);
    return {};
  }
  Outcome<std::vector<std::string>> list() override {
    if (broken || (power_ && power_->gone())) return fault(PortFault::failed, "no power");
    std::vector<std::string> names;
    for (const auto& [name, content] : files_) names.push_back(name);
    return names;
  }
  Outcome<std::string> note() override {
    if (broken || note_.empty()) return fault(PortFault::missing, "no note");
    return note_;
  }
  Outcome<void> set_note(std::string_view text, bool) override {
    if (broken) return fault(PortFault::failed, "no power");
    note_ = text;
    return {};
  }
  Outcome<void> set_aside(const AsideFile& file, const std::string&) override {
    if (fails()) return fault(PortFault::failed, "no power");
    return move(files_, aside_, file.name, file.since_ms);
  }
  Outcome<std::vector<AsideFile>> aside() override {
    std::vector<AsideFile> all;
    for (const auto& [name, content] : aside_) all.push_back({name, since_[name]});
    return all;
  }
  Outcome<void> bring_back(const AsideFile& file) override {
    return move(aside_, files_, file.name, file.since_ms);
  }
  Outcome<void> remove_aside(const AsideFile& file) override {
    aside_.erase(file.name);
    return {};
  }
  Outcome<DriveSpace> space() override { return DriveSpace{capacity, capacity - used()}; }

  // The state after a power cut: `keeps` returns how many unsynced bytes of a file are left
  // (nullopt: not even its name), and `returns` whether a removed file is back.
  struct Choice {
    std::function<std::optional<std::size_t>(const std::string& name, const Content&)> keeps;
    std::function<bool(const std::string& name)> returns;
  };
  void crash(const Choice& choice) {
    Files left;
    for (const auto& [name, content] : files_) {
      std::optional<std::size_t> bytes = content->synced;
      if (content->synced < content->bytes.size() || !content->named) {
        bytes = choice.keeps(name, *content);
        if (content->named) bytes = std::max(bytes.value_or(0), content->synced);
      }
      if (!bytes) continue;
      auto kept = std::make_shared<Content>(*content);
      kept->bytes.resize(std::min(*bytes, kept->bytes.size()));
      kept->synced = kept->bytes.size();
      kept->named = true;
      left[name] = kept;
    }
    for (const auto& [name, content] : removed_) {
      if (choice.returns(name)) left[name] = content;
    }
    files_ = std::move(left);
    removed_.clear();
  }

  Files& files() { return files_; }

 private:
  class File final : public DriveFile {
   public:
    File(SimulatedDrive& drive, std::shared_ptr<Content> content)
        : drive_(drive), content_(std::move(content)) {}
    Outcome<void> append(std::span<const std::string_view> pieces) override {
      if (drive_.fails()) return fault(PortFault::failed, "no power");
      for (const std::string_view piece : pieces) {
        if (drive_.used() + piece.size() > drive_.capacity) return fault(PortFault::full, "full");
        content_->bytes += piece;
      }
      return {};
    }
    using DriveFile::read;
    Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
      if (drive_.broken || (drive_.power_ && drive_.power_->gone())) {
        return fault(PortFault::failed, "no power");
      }
      ++drive_.reads;
      if (const int ms = drive_.slow_ms; ms > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      }
      if (offset >= content_->bytes.size()) return 0;
      const auto some = std::min<std::size_t>(into.size(), content_->bytes.size() - offset);
      std::memcpy(into.data(), content_->bytes.data() + offset, some);
      return some;
    }
    Outcome<void> sync() override {
      if (drive_.fails()) return fault(PortFault::failed, "no power");
      content_->synced = content_->bytes.size();
      content_->named = true;
      return {};
    }

   private:
    SimulatedDrive& drive_;
    std::shared_ptr<Content> content_;
  };

  Outcome<void> move(Files& from, Files& to, const std::string& name, std::uint64_t since_ms) {
    const auto at = from.find(name);
    if (at == from.end()) return {};
    to[name] = at->second;
    since_[name] = since_ms;
    from.erase(at);
    return {};
  }
  bool fails() { return broken || (power_ && power_->fails()); }
  std::uint64_t used() const {
    std::uint64_t bytes = 0;
    for (const auto& [name, content] : files_) bytes += content->bytes.size();
    return bytes;
  }

  Power* power_;
  Files files_;
  Files removed_;
  Files aside_;
  std::map<std::string, std::uint64_t> since_;
  std::string note_;
};

}  // namespace orrery::drives
