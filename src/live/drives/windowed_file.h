// A file on another machine, read through a window that grows while reads are sequential; reading
// block by block would cost one round trip per block.
#pragma once

#include <algorithm>
#include <functional>

#include "live/drives/drive.h"

namespace orrery::drives {

class WindowedFile final : public DriveFile {
 public:
  // Returns up to `count` bytes from `from` on; none at the end of the file.
  using Fetch = std::function<Outcome<std::string>(std::uint64_t from, std::size_t count)>;

  // `front` holds the first bytes, if they are already known.
  explicit WindowedFile(Fetch fetch, std::string front = {})
      : fetch_(std::move(fetch)), window_(std::move(front)) {}

  Outcome<void> append(std::span<const std::string_view>) override {
    return fault(PortFault::failed, "a finished file cannot be written to again");
  }
  Outcome<void> sync() override { return {}; }

  using DriveFile::read;
  Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      auto there = slide_to(offset + got, into.size() - got);
      if (!there) return std::unexpected(there.error());
      if (!*there) break;
      const auto at = static_cast<std::size_t>(offset + got - begin_);
      got += window_.copy(into.data() + got, into.size() - got, at);
    }
    return got;
  }

 private:
  static constexpr std::size_t kSpanMin = std::size_t{256} << 10;
  static constexpr std::size_t kSpanMax = std::size_t{2} << 20;

  // Returns false at the end of the file.
  Outcome<bool> slide_to(std::uint64_t from, std::size_t wanted) {
    const std::uint64_t end = begin_ + window_.size();
    if (from >= begin_ && from < end) return true;
    span_ = from == end ? std::min(2 * span_, kSpanMax) : kSpanMin;
    auto bytes = fetch_(from, std::max(span_, wanted));
    if (!bytes) return std::unexpected(bytes.error());
    begin_ = from;
    window_ = std::move(*bytes);
    return !window_.empty();
  }

  Fetch fetch_;
  std::uint64_t begin_ = 0;
  std::string window_;
  std::size_t span_ = kSpanMin / 2;
};

}  // namespace orrery::drives
