#include "store/folder_drive.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "net/side_thread.h"
#include "store/file_text.h"

namespace orrery::store {
namespace {

namespace fs = std::filesystem;

constexpr int kFolders = 256;
constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20;  // less is not worth a thread
constexpr std::size_t kBufferBytes = std::size_t{512} << 10;
constexpr std::size_t kPageBytes = 4096;  // a write past the page cache is a multiple of
constexpr std::size_t kPiecesMax = 64;    // of one writev

Fault system_fault(const std::string& what, int error) {
  const PortFault kind = error == ENOSPC || error == EDQUOT ? PortFault::full
                         : error == ENOENT                  ? PortFault::missing
                                                            : PortFault::failed;
  return {kind, what + ": " + std::strerror(error)};
}

// Empty where all was written.
std::optional<int> error_of_write(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return std::nullopt;
}

// The bytes of a large file on their way to the disk past the page cache, while the next come: one
// buffer is written by a thread of its own, the other is filled. The page cache would copy them,
// keep them and hand them on page by page, which takes longer than all else that a put does, and
// would throw out for them what is read again.
class DirectLane {
 public:
  // `file` ends at a multiple of a page. Null: this file system has no such writes.
  static std::unique_ptr<DirectLane> of(int file, std::string folder) {
    const int flags = ::fcntl(file, F_GETFL);
    if (flags < 0 || ::fcntl(file, F_SETFL, flags | O_DIRECT) != 0) return nullptr;
    return std::unique_ptr<DirectLane>(new DirectLane(file, flags, std::move(folder)));
  }
  DirectLane(const DirectLane&) = delete;
  DirectLane& operator=(const DirectLane&) = delete;

  // These three say which error an earlier write has met, if any.
  std::optional<int> append(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t some = std::min(bytes.size(), kBufferBytes - filled_);
      std::memcpy(filling_->data() + filled_, bytes.data(), some);
      filled_ += some;
      bytes.remove_prefix(some);
      if (filled_ < kBufferBytes) continue;
      if (const auto error = hand_over()) return error;
    }
    return std::nullopt;
  }
  // All whole pages are on their way then.
  std::optional<int> hand_over() {
    const std::size_t whole = filled_ / kPageBytes * kPageBytes;
    side_.wait();
    if (error_ || whole == 0) return error_;
    std::swap(filling_, writing_);
    filled_ -= whole;
    std::memcpy(filling_->data(), writing_->data() + whole, filled_);
    side_.begin([this, whole] { write(whole); });
    return std::nullopt;
  }
  // What is no whole page goes through the cache.
  std::optional<int> finish() {
    if (const auto error = hand_over()) return error;
    side_.wait();
    if (error_) return error_;
    if (::fcntl(file_, F_SETFL, flags_) != 0) return errno;
    return error_of_write(file_, {filling_->data(), std::exchange(filled_, 0)});
  }
  bool is_name_synced() const { return is_name_synced_; }

 private:
  struct alignas(kPageBytes) Buffer : std::array<char, kBufferBytes> {};

  DirectLane(int file, int flags, std::string folder)
      : file_(file), flags_(flags), folder_(std::move(folder)) {}
  void write(std::size_t bytes) {
    error_ = error_of_write(file_, {writing_->data(), bytes});
    // The name is made durable while the bytes come, not after them.
    if (!is_name_synced_ && !folder_.empty()) is_name_synced_ = sync_folder(folder_);
  }

  int file_;
  int flags_;
  std::string folder_;
  std::size_t filled_ = 0;  // of *filling_
  std::unique_ptr<Buffer> filling_ = std::make_unique_for_overwrite<Buffer>();
  std::unique_ptr<Buffer> writing_ = std::make_unique_for_overwrite<Buffer>();
  std::optional<int> error_;  // both known once the side thread has ended
  bool is_name_synced_ = false;
  net::SideThread side_;  // last: it uses all of the above
};

class FolderFile final : public DriveFile {
 public:
  // `folder` is synced too where the file is new.
  FolderFile(int file, std::string path, std::string folder)
      : file_(file), path_(std::move(path)), folder_(std::move(folder)) {}
  ~FolderFile() override {
    lane_.reset();
    ::close(file_);
  }
  FolderFile(const FolderFile&) = delete;
  FolderFile& operator=(const FolderFile&) = delete;

  Outcome<void> append(std::span<const std::string_view> pieces) override {
    while (!pieces.empty() && !lane_) {
      if (size_ >= kLargeBytes && may_be_direct_) {
        if (auto done = begin_lane(pieces); !done) return done;
        continue;
      }
      const auto some = pieces.first(std::min(pieces.size(), kPiecesMax));
      if (auto done = write_all(some); !done) return done;
      pieces = pieces.subspan(some.size());
    }
    for (const std::string_view piece : pieces) {
      if (const auto error = lane_->append(piece)) return cannot_write(*error);
    }
    return {};
  }

  void write_back() override {
    if (lane_) (void)lane_->hand_over();  // an error stays for sync
  }

  Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      const ssize_t n =
          ::pread(file_, into.data() + got, into.size() - got, static_cast<off_t>(offset + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return std::unexpected(system_fault("cannot read " + path_, errno));
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    return got;
  }

  Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into,
                            std::span<char> behind) override {
    const std::array<iovec, 2> places = {
        {{into.data(), into.size()}, {behind.data(), behind.size()}}};
    const ssize_t n = ::preadv(file_, places.data(), 2, static_cast<off_t>(offset));
    if (n == static_cast<ssize_t>(into.size() + behind.size())) return static_cast<std::size_t>(n);
    return DriveFile::read(offset, into, behind);  // interrupted, at the end, or a fault to be said
  }

  Outcome<void> sync() override {
    if (lane_) {
      if (const auto error = lane_->finish()) return cannot_write(*error);
    }
    if (::fdatasync(file_) != 0)
      return std::unexpected(system_fault("cannot sync " + path_, errno));
    if (folder_.empty() || (lane_ && lane_->is_name_synced()) || sync_folder(folder_)) return {};
    return std::unexpected(system_fault("cannot sync " + folder_, errno));
  }

 private:
  std::unexpected<Fault> cannot_write(int error) const {
    return std::unexpected(system_fault("cannot write " + path_, error));
  }

  // What fills the last page goes the way of all before it; the lane takes the rest.
  Outcome<void> begin_lane(std::span<const std::string_view>& pieces) {
    std::size_t lead = (kPageBytes - size_ % kPageBytes) % kPageBytes;
    std::string_view first = pieces.front();
    const std::string_view page = first.substr(0, lead);
    if (auto done = write_all({&page, 1}); !done) return done;
    pieces = pieces.subspan(1);
    if (page.size() < lead) return {};
    lane_ = DirectLane::of(file_, folder_);
    first.remove_prefix(lead);
    if (lane_) {
      if (const auto error = lane_->append(first)) return cannot_write(*error);
      return {};
    }
    may_be_direct_ = false;
    return write_all({&first, 1});
  }

  Outcome<void> write_all(std::span<const std::string_view> pieces) {
    std::array<iovec, kPiecesMax> vectors{};
    std::size_t count = 0;
    for (const std::string_view piece : pieces) {
      if (piece.empty()) continue;
      vectors[count++] = {const_cast<char*>(piece.data()), piece.size()};
    }
    for (std::size_t at = 0; at < count;) {
      const ssize_t n = ::writev(file_, &vectors[at], static_cast<int>(count - at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return std::unexpected(system_fault("cannot write " + path_, errno));
      size_ += static_cast<std::uint64_t>(n);
      auto left = static_cast<std::size_t>(n);
      while (at < count && left >= vectors[at].iov_len) left -= vectors[at++].iov_len;
      if (left == 0) continue;
      vectors[at].iov_base = static_cast<char*>(vectors[at].iov_base) + left;
      vectors[at].iov_len -= left;
    }
    return {};
  }

  int file_;
  std::string path_;
  std::string folder_;
  std::uint64_t size_ = 0;  // of what did not go through the lane
  bool may_be_direct_ = true;
  std::unique_ptr<DirectLane> lane_;
};

class FolderDrive final : public Drive {
 public:
  explicit FolderDrive(std::string folder) : folder_(std::move(folder)) {}

  Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) override {
    return file_of(name, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, true);
  }
  Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) override {
    return file_of(name, O_RDONLY | O_CLOEXEC, false);
  }

  Outcome<void> remove(const std::string& name) override {
    const std::string path = data_folder(name) + '/' + name;
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return std::unexpected(system_fault("cannot remove " + path, errno));
  }

  Outcome<std::vector<std::string>> list() override {
    std::vector<std::string> names;
    std::error_code error;
    for (int i = 0; i < kFolders; ++i) {
      for (fs::directory_iterator at(fmt::format("{}/data/{:02x}", folder_, i), error), end;
           !error && at != end; at.increment(error)) {
        names.push_back(at->path().filename().string());
      }
      if (error) return std::unexpected(system_fault("cannot list " + folder_, error.value()));
    }
    return names;
  }

  Outcome<DriveSpace> space() override {
    struct statvfs now{};
    if (::statvfs(folder_.c_str(), &now) != 0) {
      return std::unexpected(system_fault("cannot ask " + folder_, errno));
    }
    return DriveSpace{.total_bytes = now.f_blocks * now.f_frsize,
                      .free_bytes = now.f_bavail * now.f_frsize};
  }

 private:
  std::string data_folder(const std::string& name) const {
    // FNV-1a: the place of a file must be the same for every build.
    std::uint32_t hash = 2166136261u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return fmt::format("{}/data/{:02x}", folder_, (hash >> 8) % kFolders);
  }

  Outcome<std::unique_ptr<DriveFile>> file_of(const std::string& name, int flags, bool is_new) {
    const std::string folder = data_folder(name);
    const std::string path = folder + '/' + name;
    const int file = ::open(path.c_str(), flags, 0640);
    if (file < 0) return std::unexpected(system_fault("cannot open " + path, errno));
    return std::make_unique<FolderFile>(file, path, is_new ? folder : "");
  }

  std::string folder_;
};

std::unexpected<Diagnostics> drive_fault(const std::string& folder, const std::string& what,
                                         const std::string& fix) {
  return fail({.code = "store.drive", .place = {folder}, .what = what, .why = {}, .fix = fix});
}

Result<void> make_drive(const std::string& folder, const DriveMark& mark) {
  std::error_code error;
  for (int i = 0; i < kFolders && !error; ++i) {
    fs::create_directories(fmt::format("{}/data/{:02x}", folder, i), error);
  }
  if (error) return drive_fault(folder, "no drive can be made here: " + error.message(), {});
  // The mark comes last: a folder that has it has all the others.
  if (!sync_folder(folder + "/data") || !write_durably(folder + "/drive", mark_text(mark))) {
    return drive_fault(folder, std::string("no drive can be made here: ") + std::strerror(errno),
                       {});
  }
  return {};
}

}  // namespace

std::string mark_text(const DriveMark& mark) {
  return fmt::format("orrery-drive 1\nstore {}\ndrive {}\n", mark.store, mark.drive);
}

Result<std::unique_ptr<Drive>> open_folder_drive(const std::string& folder, const DriveMark& mark,
                                                 bool make) {
  auto found = read_file(folder + "/drive");
  if (!found && make) {
    if (auto made = make_drive(folder, mark); !made) return std::unexpected(made.error());
    found = mark_text(mark);
  }
  if (!found) {
    return drive_fault(folder, "this drive of the store is not there",
                       "mount it, or replace it with `orrery store repair`");
  }
  if (*found != mark_text(mark)) {
    return drive_fault(folder, "this drive belongs to another store, or to another place in it",
                       "mount each drive where it was");
  }
  return std::make_unique<FolderDrive>(folder);
}

}  // namespace orrery::store
