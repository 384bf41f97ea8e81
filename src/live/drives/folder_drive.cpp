#include "live/drives/folder_drive.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "live/drives/erasure.h"
#include "live/drives/file_text.h"
#include "live/files/replace.h"

namespace orrery::drives {
namespace {

namespace fs = std::filesystem;

constexpr int kFolders = 256;
constexpr std::uint64_t kWriteBackBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kLargeBytes = std::uint64_t{512} << 10;
constexpr std::uint64_t kAheadBytesMax = std::uint64_t{64} << 20;
constexpr std::size_t kPiecesMax = 64;  // pieces per writev
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::size_t kNoteBytes = 512;  // a note that is not synced takes at most one sector

Fault system_fault(const std::string& what, int error) {
  const PortFault kind = error == ENOSPC || error == EDQUOT ? PortFault::full
                         : error == ENOENT                  ? PortFault::missing
                                                            : PortFault::failed;
  return {kind, what + ": " + std::strerror(error)};
}

class FolderFile final : public DriveFile {
 public:
  // `folder` is synced as well if the file is new.
  FolderFile(int file, std::string path, std::string folder)
      : file_(file), path_(std::move(path)), folder_(std::move(folder)) {}
  ~FolderFile() override {
    if (beside_.valid()) beside_.wait();
    ::close(file_);
  }
  FolderFile(const FolderFile&) = delete;
  FolderFile& operator=(const FolderFile&) = delete;

  void expect(std::uint64_t bytes) override { expected_ = bytes < kLargeBytes ? 0 : bytes; }

  Outcome<void> append(std::span<const std::string_view> pieces) override {
    std::vector<std::string_view> all = {rest_};
    all.insert(all.end(), pieces.begin(), pieces.end());
    find_places(all);
    std::string rest = cut_rest(all);
    if (auto done = write_all(all); !done) return done;
    rest_ = std::move(rest);
    if (size_ - started_ >= kWriteBackBytes && !is_busy()) write_back();
    return {};
  }

  void begin_sync() override {
    beside_ = std::async(std::launch::async | std::launch::deferred,
                         [this, before = std::move(beside_)]() mutable {
                           if (before.valid()) before.get();
                           synced_ = synced();
                         });
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
    return DriveFile::read(offset, into, behind);  // interrupted, at the end of the file, or a
                                                   // fault that is then reported
  }

  Outcome<void> sync() override {
    wait_for_beside();
    if (synced_) return *std::exchange(synced_, std::nullopt);
    return synced();
  }

 private:
  void wait_for_beside() {
    if (beside_.valid()) beside_.get();
  }

  // Removes and returns the bytes after the last whole page; they wait for the bytes that follow.
  // File systems store whole pages in larger pieces, which costs a quarter less, but the blocks of
  // a shard end anywhere. The first bytes are written at once, because they show whether the drive
  // accepts writes.
  std::string cut_rest(std::vector<std::string_view>& pieces) const {
    std::uint64_t bytes = 0;
    for (const std::string_view piece : pieces) bytes += piece.size();
    std::uint64_t left = size_ == 0 ? 0 : std::min(bytes, (size_ + bytes) % kPageBytes);
    std::string rest;
    while (left > 0) {
      std::string_view& last = pieces.back();
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(left, last.size()));
      rest.insert(0, last.substr(last.size() - some));
      last.remove_suffix(some);
      left -= some;
      if (last.empty()) pieces.pop_back();
    }
    return rest;
  }

  // Allocating space while pages are being written slows down both, and costs more than allocating
  // ahead. If the file system cannot do this, or has no space, the later write reports it.
  void find_places(std::span<const std::string_view> pieces) {
    std::uint64_t end = size_;
    for (const std::string_view piece : pieces) end += piece.size();
    if (end <= placed_ || placed_ >= expected_) return;
    const std::uint64_t ahead = std::clamp(size_, kWriteBackBytes, kAheadBytesMax);
    const std::uint64_t to = std::min(expected_, end + ahead);
    const auto bytes = static_cast<off_t>(to - placed_);
    const bool found =
        ::fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(placed_), bytes) == 0;
    if (found) placed_ = to;
    if (!found) expected_ = 0;
  }

  bool is_busy() const {
    return beside_.valid() &&
           beside_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
  }

  // Runs next to the writing, one stretch at a time, because handing pages to the disk may block.
  // If the disk is behind, the next stretch is longer.
  void write_back() {
    beside_ =
        std::async(std::launch::async | std::launch::deferred, [this, from = started_, to = size_] {
          ::sync_file_range(file_, static_cast<off_t>(from), static_cast<off_t>(to - from),
                            SYNC_FILE_RANGE_WRITE);
          // The name of a large file is made durable while its bytes are still being written.
          if (from > 0 || folder_.empty()) return;
          name_synced_ = files::sync_folder(folder_);
        });
    started_ = size_;
  }

  Outcome<void> synced() {
    const std::string_view rest[] = {rest_};
    if (auto done = write_all(rest); !done) return done;
    rest_.clear();
    // Fewer bytes were written than expected: release the space allocated beyond the end.
    if (placed_ > size_ && ::ftruncate(file_, static_cast<off_t>(size_)) != 0)
      return std::unexpected(system_fault("cannot truncate " + path_, errno));
    if (::fdatasync(file_) != 0)
      return std::unexpected(system_fault("cannot sync " + path_, errno));
    if (folder_.empty() || name_synced_ || files::sync_folder(folder_)) return {};
    return std::unexpected(system_fault("cannot sync " + folder_, errno));
  }

  Outcome<void> write_all(std::span<const std::string_view> pieces) {
    while (!pieces.empty()) {
      const auto some = pieces.first(std::min(pieces.size(), kPiecesMax));
      if (auto done = write_some(some); !done) return done;
      pieces = pieces.subspan(some.size());
    }
    return {};
  }

  Outcome<void> write_some(std::span<const std::string_view> pieces) {
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
  std::uint64_t size_ = 0;      // bytes written
  std::string rest_;            // bytes after them that are still to be written
  std::uint64_t started_ = 0;   // bytes already handed to the disk
  std::uint64_t expected_ = 0;  // 0: unknown, or the file system cannot allocate ahead
  std::uint64_t placed_ = 0;    // end of the space allocated ahead
  std::future<void> beside_;  // the write-back in the background; the members below are valid once
                              // it has ended
  bool name_synced_ = false;
  std::optional<Outcome<void>> synced_;
};

// The file that holds a drive's note.
class NoteFile {
 public:
  explicit NoteFile(std::string folder) : folder_(std::move(folder)), path_(folder_ + "/seen") {}
  ~NoteFile() {
    if (file_ >= 0) ::close(file_);
  }
  NoteFile(const NoteFile&) = delete;
  NoteFile& operator=(const NoteFile&) = delete;

  Outcome<std::string> read() {
    const std::scoped_lock lock(mutex_);
    const auto text = read_file(path_);
    if (!text) return fault(PortFault::missing, "file not found: " + path_);
    auto found = newest_of(*text);
    if (!found) return fault(PortFault::corrupt, path_ + " holds no intact note");
    number_ = std::max(number_, found->first);
    return std::move(found->second);
  }

  Outcome<void> write(std::string_view text, bool durable) {
    const std::scoped_lock lock(mutex_);
    if (auto good = open(); !good) return good;
    const std::string page = page_of(++number_, text);
    const off_t at = durable ? 0 : static_cast<off_t>(kPageBytes);
    const std::size_t bytes = durable ? page.size() : std::min(page.size(), kNoteBytes);
    if (::pwrite(file_, page.data(), bytes, at) != static_cast<ssize_t>(bytes))
      return std::unexpected(system_fault("cannot write " + path_, errno));
    if (durable && ::fdatasync(file_) != 0)
      return std::unexpected(system_fault("cannot sync " + path_, errno));
    return {};
  }

 private:
  static std::string page_of(std::uint64_t number, std::string_view text) {
    std::string page = fmt::format("{:016x} {:04x} {:08x}\n", number, text.size(),
                                   block_crc(text, static_cast<std::uint32_t>(number)));
    page += text.substr(0, kPageBytes - page.size());
    page.resize(kPageBytes, '\n');
    return page;
  }

  static std::optional<std::pair<std::uint64_t, std::string>> newest_of(const std::string& text) {
    std::optional<std::pair<std::uint64_t, std::string>> newest;
    for (std::size_t at = 0; at + 32 <= text.size(); at += kPageBytes) {
      std::uint64_t number = 0;
      unsigned size = 0;
      unsigned crc = 0;
      if (std::sscanf(text.c_str() + at, "%16lx %4x %8x", &number, &size, &crc) != 3) continue;
      const std::string_view body = std::string_view(text).substr(at + 31).substr(0, size);
      if (body.size() != size || block_crc(body, static_cast<std::uint32_t>(number)) != crc)
        continue;
      if (!newest || number > newest->first) newest = {number, std::string(body)};
    }
    return newest;
  }

  // Both pages get their space on disk before anything is written to them.
  Outcome<void> open() {
    if (file_ >= 0) return {};
    if (const auto text = read_file(path_)) {
      if (const auto found = newest_of(*text)) number_ = std::max(number_, found->first);
    }
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (file < 0) return std::unexpected(system_fault("cannot open " + path_, errno));
    struct stat now{};
    const bool is_new = ::fstat(file, &now) == 0 && now.st_size == 0;
    const std::string blank(2 * kPageBytes, '\n');
    const bool made = !is_new || (::pwrite(file, blank.data(), blank.size(), 0) ==
                                      static_cast<ssize_t>(blank.size()) &&
                                  ::fdatasync(file) == 0 && files::sync_folder(folder_));
    if (!made) {
      const Fault why = system_fault("cannot create " + path_, errno);
      ::close(file);
      ::unlink(path_.c_str());
      return std::unexpected(why);
    }
    file_ = file;
    return {};
  }

  std::string folder_;
  std::string path_;
  std::mutex mutex_;
  int file_ = -1;
  std::uint64_t number_ = 0;  // number of the note written last
};

class FolderDrive final : public Drive {
 public:
  explicit FolderDrive(std::string folder) : folder_(std::move(folder)), note_(folder_) {}

  Outcome<std::unique_ptr<DriveFile>> create(const std::string& name) override {
    return file_of(name, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, true);
  }
  Outcome<std::unique_ptr<DriveFile>> open(const std::string& name) override {
    auto found = file_of(name, O_RDONLY | O_CLOEXEC, false);
    if (found || found.error().kind != PortFault::missing) return found;
    // It may have been set aside by mistake; a reader needs it nevertheless.
    for (const std::uint64_t since_ms : aside_folders()) {
      const std::string path = aside_folder(since_ms) + '/' + name;
      const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (file >= 0) return std::make_unique<FolderFile>(file, path, "");
    }
    return found;
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

  Outcome<std::string> note() override { return note_.read(); }
  Outcome<void> set_note(std::string_view text, bool durable) override {
    return note_.write(text, durable);
  }

  // A copy of the file may already be set aside, if a power cut undid half of a move. That copy is
  // kept too.
  Outcome<void> set_aside(const AsideFile& file, const std::string& origin) override {
    Outcome<void> done;
    for (std::uint64_t since_ms = file.since_ms; since_ms < file.since_ms + 16; ++since_ms) {
      const std::string to = aside_folder(since_ms);
      std::error_code error;
      if (fs::create_directories(to, error); error)
        return std::unexpected(system_fault("cannot create " + to, error.value()));
      if (!fs::exists(to + "/origin", error)) (void)write_durably(to + "/origin", origin + '\n');
      done = moved(data_folder(file.name), to, file.name);
      if (done) return done;
    }
    return done;
  }
  Outcome<void> bring_back(const AsideFile& file) override {
    return moved(aside_folder(file.since_ms), data_folder(file.name), file.name);
  }
  Outcome<void> remove_aside(const AsideFile& file) override {
    const std::string folder = aside_folder(file.since_ms);
    const std::string path = folder + '/' + file.name;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return std::unexpected(system_fault("cannot remove " + path, errno));
    std::error_code error;
    const auto left = std::distance(fs::directory_iterator(folder, error), {});
    if (!error && left == 1 && ::unlink((folder + "/origin").c_str()) == 0)
      (void)::rmdir(folder.c_str());
    return {};
  }
  Outcome<std::vector<AsideFile>> aside() override {
    std::vector<AsideFile> files;
    for (const std::uint64_t since_ms : aside_folders()) {
      std::error_code error;
      for (fs::directory_iterator at(aside_folder(since_ms), error), end; !error && at != end;
           at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (name.find('.') != name.npos && !name.ends_with(".new"))
          files.push_back({name, since_ms});
      }
      if (error) return std::unexpected(system_fault("cannot list " + folder_, error.value()));
    }
    return files;
  }

  Outcome<DriveSpace> space() override {
    struct statvfs now{};
    if (::statvfs(folder_.c_str(), &now) != 0) {
      return std::unexpected(system_fault("cannot read the free space of " + folder_, errno));
    }
    return DriveSpace{.total_bytes = now.f_blocks * now.f_frsize,
                      .free_bytes = now.f_bavail * now.f_frsize};
  }

 private:
  std::string data_folder(const std::string& name) const {
    // FNV-1a, because the folder of a file must be the same in every build.
    std::uint32_t hash = 2166136261u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return fmt::format("{}/data/{:02x}", folder_, (hash >> 8) % kFolders);
  }

  Outcome<std::unique_ptr<DriveFile>> file_of(const std::string& name, int flags, bool is_new) {
    const std::string folder = data_folder(name);
    const std::string path = folder + '/' + name;
    const int file = ::open(path.c_str(), flags, 0640);
    if (file >= 0) return std::make_unique<FolderFile>(file, path, is_new ? folder : "");
    const int error = errno;
    // If the whole folder is missing, nothing is known about its files: the drive is away.
    if (error == ENOENT && ::access((folder_ + "/drive").c_str(), F_OK) != 0)
      return fault(PortFault::busy, "the drive at " + folder_ + " is missing");
    return std::unexpected(system_fault("cannot open " + path, error));
  }

  std::string aside_folder(std::uint64_t since_ms) const {
    return fmt::format("{}/aside/{}", folder_, since_ms);
  }
  std::vector<std::uint64_t> aside_folders() const {
    std::vector<std::uint64_t> all;
    std::error_code error;
    for (fs::directory_iterator at(folder_ + "/aside", error), end; !error && at != end;
         at.increment(error)) {
      const auto since = parse_integer(at->path().filename().string());
      if (since && *since >= 0) all.push_back(static_cast<std::uint64_t>(*since));
    }
    return all;
  }
  // Never replaces an existing file; both are then kept. A power cut may undo the move, which loses
  // nothing.
  Outcome<void> moved(const std::string& from, const std::string& to, const std::string& name) {
    const std::string before = from + '/' + name;
    const std::string after = to + '/' + name;
    if (::renameat2(AT_FDCWD, before.c_str(), AT_FDCWD, after.c_str(), RENAME_NOREPLACE) != 0 &&
        !(errno == ENOENT && ::access(after.c_str(), F_OK) == 0))
      return std::unexpected(system_fault("cannot move " + before + " to " + to, errno));
    return {};
  }

  std::string folder_;
  NoteFile note_;
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
  if (error) return drive_fault(folder, "cannot create a drive here: " + error.message(), {});
  // The marker is written last, so a folder that has it has everything else.
  if (!files::sync_folder(folder + "/data") || !write_durably(folder + "/drive", mark_text(mark))) {
    return drive_fault(folder, std::string("cannot create a drive here: ") + std::strerror(errno),
                       {});
  }
  return {};
}

// Returns whether the text is the marker of some drive.
bool is_mark(std::string_view text) {
  const auto lines = split(text, '\n');
  return lines.size() == 4 && lines[0] == "orrery-drive 1" && lines[1].starts_with("store ") &&
         lines[2].starts_with("drive ") && lines[3].empty();
}

// Returns whether there are files of a drive below the folder.
bool has_data(const std::string& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder + "/data", error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file(error)) return true;
  }
  return error && error != std::errc::no_such_file_or_directory &&
         error != std::errc::not_a_directory;
}

}  // namespace

std::string mark_text(const DriveMark& mark) {
  return fmt::format("orrery-drive 1\nstore {}\ndrive {}\n", mark.store, mark.drive);
}

Result<std::unique_ptr<Drive>> open_folder_drive(const std::string& folder, const DriveMark& mark,
                                                 Marking marking) {
  const std::string wanted = mark_text(mark);
  if (::access((folder + "/drive").c_str(), R_OK) != 0 && errno == EACCES) {
    return drive_fault(folder, "this user has no permission to read the drive",
                       "start the store as the user who owns the drive, or grant this user read "
                       "access");
  }
  const auto found = read_file(folder + "/drive");
  if (found && *found == wanted) return std::make_unique<FolderDrive>(folder);
  if (found && is_mark(*found)) {
    return drive_fault(folder,
                       "this drive belongs to another store, or to another position in this store",
                       "mount each drive where it was before");
  }
  if (found && marking != Marking::again) {
    return drive_fault(folder, "the marker file of this drive, " + folder + "/drive, is damaged",
                       "restore the file, or write it again with `orrery store repair STORE "
                       "--apply`");
  }
  const bool has_files = has_data(folder);
  if (marking == Marking::refuse || (has_files && marking == Marking::make)) {
    return drive_fault(
        folder,
        has_files ? "the marker file of this drive, " + folder +
                        "/drive, is missing although the "
                        "drive holds data"
                  : "this drive of the store is missing",
        has_files ? "restore the file, or write it again with `orrery store repair STORE --apply`"
                  : "mount it, or replace it with `orrery store repair STORE --apply`");
  }
  if (auto made = make_drive(folder, mark); !made) return std::unexpected(made.error());
  return std::make_unique<FolderDrive>(folder);
}

}  // namespace orrery::drives
