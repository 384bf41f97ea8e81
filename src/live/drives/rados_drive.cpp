#include "live/drives/rados_drive.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <type_traits>

#include "core/base/text.h"
#include "live/drives/aside_names.h"
#include "live/drives/windowed_file.h"

namespace orrery::drives {
namespace {

using drives::PoolError;
using drives::PoolFault;
using drives::Said;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kPieceBytes = std::uint64_t{16} << 20;
constexpr std::size_t kAppendBytes = std::size_t{256} << 10;
constexpr std::size_t kAppendsMax = 4;  // appends in flight per file
// A header, a block and its checksum: the first answer contains the whole of a short file.
constexpr std::size_t kFrontBytes = std::size_t{72} << 10;
constexpr std::chrono::seconds kPoolSilence{2};
const std::string kMarkObject = "drive";
constexpr std::size_t kNoteBytesMost = 4096;

std::string piece_name(const std::string& file, std::uint64_t piece) {
  return piece == 0 ? file : fmt::format("{}@{}", file, piece);
}

Fault fault_of_pool(const PoolError& error) {
  switch (error.kind) {
    case PoolFault::absent:
      return {PortFault::missing, error.what};
    case PoolFault::full:
      return {PortFault::full, error.what};
    case PoolFault::silent:
    case PoolFault::refused:
      return {PortFault::busy, error.what};
    case PoolFault::taken:
    case PoolFault::broken:
      break;
  }
  return {PortFault::failed, error.what};
}

// The pool. It is called only while it answers and once the marker is known to be ours.
class PoolCalls {
 public:
  PoolCalls(std::unique_ptr<drives::Pool> pool, std::string mark)
      : pool_(std::move(pool)), mark_(std::move(mark)) {}

  void trust_mark() { checked_ = true; }

  template <class Call>
  auto ask(Call call) -> Outcome<typename std::invoke_result_t<Call, drives::Pool&>::value_type> {
    if (auto good = ready(); !good) return std::unexpected(good.error());
    auto answer = call(*pool_);
    if (!answer) return std::unexpected(heard(answer.error()));
    if constexpr (std::is_void_v<typename decltype(answer)::value_type>) {
      return {};
    } else {
      return std::move(*answer);
    }
  }

  Outcome<std::unique_ptr<drives::Append>> append(const std::string& object, std::string_view bytes,
                                                  bool fresh) {
    if (auto good = ready(); !good) return std::unexpected(good.error());
    return pool_->append(object, bytes, fresh);
  }
  Outcome<void> wait(drives::Append& sent) {
    const auto done = sent.wait();
    if (!done) return std::unexpected(heard(done.error()));
    return {};
  }

 private:
  Outcome<void> ready() {
    {
      const std::scoped_lock lock(mutex_);
      if (SteadyClock::now() < silent_until_) {
        return fault(PortFault::busy,
                     "the pool did not answer a moment ago and is not asked again yet");
      }
    }
    if (checked_) return {};
    const auto found = pool_->read(kMarkObject, 0, mark_.size() + 1);
    if (!found) return fault(PortFault::busy, heard(found.error()).what);
    if (*found != mark_) {
      return fault(PortFault::busy, "the drive's marker belongs to another store or drive");
    }
    checked_ = true;
    return {};
  }
  Fault heard(const PoolError& error) {
    if (error.kind == PoolFault::silent) {
      const std::scoped_lock lock(mutex_);
      silent_until_ = SteadyClock::now() + kPoolSilence;
    }
    return fault_of_pool(error);
  }

  std::unique_ptr<drives::Pool> pool_;
  std::string mark_;
  std::atomic<bool> checked_ = false;
  std::mutex mutex_;
  SteadyClock::time_point silent_until_ = {};
};

// A file that is being written.
class PooledFile final : public DriveFile {
 public:
  PooledFile(PoolCalls& calls, std::string name) : calls_(calls), name_(std::move(name)) {}

  Outcome<void> append(std::span<const std::string_view> pieces) override {
    for (std::string_view bytes : pieces) {
      while (!bytes.empty()) {
        if (auto good = begin(); !good) return good;
        const std::size_t room = std::min<std::size_t>(chunk_, kPieceBytes - in_piece_);
        const std::size_t some = std::min(bytes.size(), room - waiting_.size());
        waiting_ += bytes.substr(0, some);
        bytes.remove_prefix(some);
        if (waiting_.size() < room) continue;
        if (auto sent = send(); !sent) return sent;
      }
    }
    return {};
  }

  using DriveFile::read;
  Outcome<std::size_t> read(std::uint64_t, std::span<char>) override {
    return fault(PortFault::failed, "a file cannot be read while it is being written");
  }

  Outcome<void> sync() override {
    if (auto good = begin(); !good) return good;
    const bool is_new = piece_ == 0 && in_piece_ == 0;
    if (!waiting_.empty() || (is_new && !made_)) {
      if (auto sent = send(); !sent) return sent;
    }
    return wait_until(0);
  }

 private:
  // A file that has failed once stays failed: bytes after the gap would end up at the wrong offset.
  Outcome<void> begin() {
    if (failed_) return std::unexpected(*failed_);
    if (chunk_ > 0) return {};
    const auto unit = calls_.ask([](drives::Pool& pool) { return pool.append_unit(); });
    if (!unit) return fail_with(unit.error());
    chunk_ = std::max<std::size_t>(1, kAppendBytes / *unit) * *unit;
    return {};
  }

  Outcome<void> send() {
    const bool fresh = in_piece_ == 0;
    if (fresh) {
      if (auto done = wait_until(0); !done) return done;
    }
    auto sent = calls_.append(piece_name(name_, piece_), waiting_, fresh);
    if (!sent) return fail_with(sent.error());
    under_way_.push_back(std::move(*sent));
    made_ = true;
    in_piece_ += waiting_.size();
    waiting_.clear();
    if (in_piece_ == kPieceBytes) {
      ++piece_;
      in_piece_ = 0;
    }
    return wait_until(kAppendsMax);
  }

  Outcome<void> wait_until(std::size_t most) {
    while (under_way_.size() > most) {
      const auto done = calls_.wait(*under_way_.front());
      under_way_.pop_front();
      if (!done) return fail_with(done.error());
    }
    return {};
  }

  Outcome<void> fail_with(const Fault& why) {
    failed_ = why;
    under_way_.clear();
    return std::unexpected(why);
  }

  PoolCalls& calls_;
  std::string name_;
  std::size_t chunk_ = 0;
  std::string waiting_;
  std::uint64_t piece_ = 0;
  std::uint64_t in_piece_ = 0;  // bytes of the current piece that were sent
  bool made_ = false;
  std::deque<std::unique_ptr<drives::Append>> under_way_;
  std::optional<Fault> failed_;
};

class RadosDrive final : public Drive {
 public:
  explicit RadosDrive(std::unique_ptr<PoolCalls> calls) : calls_(std::move(calls)) {}

  Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) override {
    return std::make_unique<PooledFile>(*calls_, name);
  }

  Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) override {
    auto front = calls_->ask([&](drives::Pool& pool) { return pool.read(name, 0, kFrontBytes); });
    if (!front) return std::unexpected(front.error());
    return std::make_unique<WindowedFile>(
        [this, name](std::uint64_t from, std::size_t count) { return bytes_of(name, from, count); },
        std::move(*front));
  }

  Outcome<void> remove(const std::string& name) override {
    std::uint64_t last = 0;
    for (;; ++last) {
      const auto size =
          calls_->ask([&](drives::Pool& pool) { return pool.size(piece_name(name, last)); });
      if (!size && size.error().kind != PortFault::missing) return std::unexpected(size.error());
      if (!size || *size < kPieceBytes) break;
    }
    for (const std::uint64_t piece : alone(name)) {
      if (auto gone = remove_piece(name, piece); !gone) return gone;
    }
    for (std::uint64_t piece = last + 1; piece-- > 0;) {
      if (auto gone = remove_piece(name, piece); !gone) return gone;
    }
    const std::scoped_lock lock(mutex_);
    alone_.erase(name);
    return {};
  }

  Outcome<std::vector<std::string>> list() override {
    const auto all = all_names();
    if (!all) return all;
    return names_in_use(*all);
  }

  Outcome<std::string> note() override {
    return calls_->ask([](drives::Pool& pool) { return pool.read(kNoteName, 0, kNoteBytesMost); });
  }
  // Only durable notes are sent: a request per note would cost too much. The note is not replaced
  // in one step: after a crash between the two calls the drive has no note, and the notes of other
  // drives make up for it.
  Outcome<void> set_note(std::string_view text, bool durable) override {
    if (!durable) return {};
    return put(kNoteName, text);
  }

  Outcome<void> set_aside(const AsideFile& file, const std::string& origin) override {
    return put(aside_name(file.name), aside_text(file, origin));
  }
  Outcome<void> bring_back(const AsideFile& file) override {
    return remove_object(aside_name(file.name));
  }
  Outcome<void> remove_aside(const AsideFile& file) override {
    if (auto gone = remove(file.name); !gone) return gone;
    return remove_object(aside_name(file.name));
  }
  Outcome<std::vector<AsideFile>> aside() override {
    const auto all = all_names();
    if (!all) return std::unexpected(all.error());
    std::vector<AsideFile> files;
    for (const std::string& name : names_aside(*all)) {
      const auto text = calls_->ask(
          [&](drives::Pool& pool) { return pool.read(aside_name(name), 0, kNoteBytesMost); });
      if (!text) return std::unexpected(text.error());
      files.push_back({name, aside_since(*text)});
    }
    return files;
  }

  Outcome<DriveSpace> space() override {
    const auto space = calls_->ask([](drives::Pool& pool) { return pool.space(); });
    if (!space) return std::unexpected(space.error());
    return DriveSpace{space->total_bytes, space->free_bytes};
  }

 private:
  Outcome<void> remove_object(const std::string& name) {
    auto gone = calls_->ask([&](drives::Pool& pool) { return pool.remove(name); });
    if (!gone && gone.error().kind != PortFault::missing) return gone;
    return {};
  }
  Outcome<void> put(const std::string& name, std::string_view text) {
    const auto unit = calls_->ask([](drives::Pool& pool) { return pool.append_unit(); });
    if (!unit) return std::unexpected(unit.error());
    std::string padded(text);
    padded.resize((padded.size() + *unit - 1) / *unit * *unit, '\n');
    if (auto gone = remove_object(name); !gone) return gone;
    auto sent = calls_->append(name, padded, true);
    if (!sent) return std::unexpected(sent.error());
    return calls_->wait(**sent);
  }
  Outcome<std::vector<std::string>> all_names() {
    const auto objects = calls_->ask([](drives::Pool& pool) { return pool.list(); });
    if (!objects) return std::unexpected(objects.error());
    std::map<std::string, std::set<std::uint64_t>> files;
    for (const std::string& object : *objects) {
      if (object == kMarkObject || object == kNoteName) continue;
      const auto at = object.find('@');
      const auto piece = at == object.npos ? 0 : parse_integer(object.substr(at + 1));
      if (piece && *piece >= 0) {
        files[object.substr(0, at)].insert(static_cast<std::uint64_t>(*piece));
      }
    }
    std::vector<std::string> names;
    const std::scoped_lock lock(mutex_);
    alone_.clear();
    for (auto& [name, pieces] : files) {
      names.push_back(name);
      // Its first pieces may be in the process of being removed, or were never seen.
      if (*pieces.rbegin() + 1 != pieces.size()) alone_[name] = std::move(pieces);
    }
    return names;
  }

  Outcome<std::string> bytes_of(const std::string& name, std::uint64_t from, std::size_t count) {
    const std::uint64_t piece = from / kPieceBytes;
    const std::uint64_t offset = from % kPieceBytes;
    auto bytes = calls_->ask([&](drives::Pool& pool) {
      return pool.read(
          piece_name(name, piece), offset,
          static_cast<std::size_t>(std::min<std::uint64_t>(count, kPieceBytes - offset)));
    });
    // A missing further piece means that the file has ended. A missing first piece means that there
    // is no file.
    if (!bytes && bytes.error().kind == PortFault::missing && piece > 0) return std::string();
    return bytes;
  }
  Outcome<void> remove_piece(const std::string& name, std::uint64_t piece) {
    auto gone =
        calls_->ask([&](drives::Pool& pool) { return pool.remove(piece_name(name, piece)); });
    if (!gone && gone.error().kind != PortFault::missing) return gone;
    return {};
  }
  std::set<std::uint64_t> alone(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto at = alone_.find(name);
    return at == alone_.end() ? std::set<std::uint64_t>() : at->second;
  }

  std::unique_ptr<PoolCalls> calls_;
  std::mutex mutex_;
  std::map<std::string, std::set<std::uint64_t>> alone_;  // piece numbers of files that have gaps
};

std::unexpected<Diagnostics> rados_fault(const std::string& where, const std::string& what,
                                         const std::string& fix) {
  return fail({.code = "store.rados", .place = {where}, .what = what, .why = {}, .fix = fix});
}

// Returns the marker of the place. If there is none and `make` is set, creates it.
Said<std::string> mark_of(drives::Pool& pool, const std::string& mark, bool make) {
  auto found = pool.read(kMarkObject, 0, mark.size() + 1);
  if (found || found.error().kind != PoolFault::absent || !make) return found;
  const auto made = pool.append(kMarkObject, mark, true)->wait();
  if (!made && made.error().kind != PoolFault::taken) return std::unexpected(made.error());
  return pool.read(kMarkObject, 0, mark.size() + 1);
}

}  // namespace

Result<std::unique_ptr<Drive>> open_rados_drive(std::unique_ptr<drives::Pool> pool,
                                                const std::string& where, const DriveMark& mark,
                                                bool make) {
  const std::string text = mark_text(mark);
  const auto found = mark_of(*pool, text, make);
  if (found && *found != text) {
    return rados_fault(where,
                       "this namespace belongs to another store, or to another drive of this store",
                       "give each drive its own namespace");
  }
  if (!found && (make || found.error().kind == PoolFault::absent)) {
    return rados_fault(where, "this drive of the store cannot be reached: " + found.error().what,
                       make ? "create the pool, and check that the user may write to it"
                            : "check its address, or replace the drive with `orrery store repair`");
  }
  auto calls = std::make_unique<PoolCalls>(std::move(pool), text);
  if (found) calls->trust_mark();
  return std::make_unique<RadosDrive>(std::move(calls));
}

}  // namespace orrery::drives
