#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "live/agent/keep_store.h"
#include "live/agent/probe_folder.h"

namespace orrery::agent {
namespace {

namespace fs = std::filesystem;

// A file that is being written has this ending until it is whole; no listing shows it.
constexpr const char* kPartEnding = ".orrery-part";
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

std::unexpected<Diagnostics> folder_fault(const std::string& what) {
  return fail({.code = "lifecycle.folder", .what = what});
}

KeptFile file_of(const std::string& path, const struct stat& status) {
  const double written = static_cast<double>(status.st_mtim.tv_sec) +
                         static_cast<double>(status.st_mtim.tv_nsec) * 1e-9;
  return {.path = path,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .stamp = std::to_string(status.st_size) + "." + std::to_string(status.st_mtim.tv_sec) +
                   "." + std::to_string(status.st_mtim.tv_nsec) + "." +
                   std::to_string(status.st_ino),
          .written = seconds(written)};
}

// All of it reaches the disk: the file, and the name in its folder.
Result<void> sync_folder(const fs::path& folder) {
  const OpenFile open_folder(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open_folder || ::fsync(open_folder.get()) != 0) {
    return folder_fault(failed(folder.string(), "fsync"));
  }
  return {};
}

Result<void> write_all(int file, const std::string& path, std::uint64_t bytes,
                       const net::BodySource& source) {
  std::vector<char> piece(kPieceBytes);
  std::uint64_t done = 0;
  while (done < bytes) {
    const auto got = source(done, piece);
    if (!got || *got == 0) return folder_fault(path + ": its source ended early");
    for (std::size_t put = 0; put < *got;) {
      const ssize_t wrote = ::write(file, piece.data() + put, *got - put);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return folder_fault(failed(path, "write"));
      put += static_cast<std::size_t>(wrote);
    }
    done += *got;
  }
  if (::fsync(file) != 0) return folder_fault(failed(path, "fsync"));
  return {};
}

// What a write that was cut short left; nobody else names a file so.
void remove_parts(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().string().ends_with(kPartEnding)) ::unlink(at->path().c_str());
  }
}

class FolderStore final : public KeepStore {
 public:
  explicit FolderStore(std::string folder) : folder_(std::move(folder)) {}

  Result<KeptListing> list() override {
    KeptListing listing;
    std::error_code error;
    if (!fs::exists(folder_, error)) {
      // Not there yet is empty; not to be seen is a fault.
      if (error) return folder_fault(folder_.string() + ": " + error.message());
      return listing;
    }
    for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (at->is_directory(error) && !at->is_symlink(error)) {
        auto item = item_in(at->path(), name);
        if (!item) return std::unexpected(item.error());
        listing.items.push_back(std::move(*item));
      } else if (struct stat status{}; ::stat(at->path().c_str(), &status) == 0) {
        listing.beside.push_back(file_of(name, status));
      }
    }
    if (error) return folder_fault(folder_.string() + ": " + error.message());
    std::ranges::sort(listing.items, {}, &KeptItem::id);
    std::ranges::sort(listing.beside, {}, &KeptFile::path);
    return listing;
  }

  Result<net::BodySource> read(const std::string& id, const KeptFile& file) override {
    const std::string path = (folder_ / id / file.path).string();
    auto open_file = std::make_shared<OpenFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!*open_file) return folder_fault(failed(path, "open"));
    return [open_file](std::uint64_t offset, std::span<char> into) -> std::optional<std::size_t> {
      const ssize_t got =
          ::pread(open_file->get(), into.data(), into.size(), static_cast<off_t>(offset));
      return got < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(got));
    };
  }

  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    const fs::path target = folder_ / id / path;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) return folder_fault(target.parent_path().string() + ": " + error.message());
    const std::string part = target.string() + kPartEnding;
    {
      const OpenFile file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
      if (!file) return folder_fault(failed(part, "open"));
      if (auto written = write_all(file.get(), part, bytes, source); !written) return written;
    }
    if (::rename(part.c_str(), target.c_str()) != 0) return folder_fault(failed(part, "rename"));
    // The folders between the item and the file may be new as well.
    for (fs::path at = target.parent_path();; at = at.parent_path()) {
      if (auto synced = sync_folder(at); !synced) return synced;
      if (at == folder_ || at == at.parent_path()) return {};
    }
  }

  Result<void> erase(const std::string& id, const std::string& path) override {
    const fs::path target = folder_ / id / path;
    if (::unlink(target.c_str()) != 0 && errno != ENOENT) {
      return folder_fault(failed(target.string(), "unlink"));
    }
    // Folders that it leaves empty go too, up to the item's own.
    for (fs::path at = target.parent_path(); at != folder_; at = at.parent_path()) {
      remove_parts(at);
      if (::rmdir(at.c_str()) != 0) break;
    }
    return {};
  }

 private:
  static Result<KeptItem> item_in(const fs::path& folder, const std::string& id) {
    KeptItem item{.id = id};
    std::error_code error;
    const auto options = fs::directory_options::none;
    for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
         at.increment(error)) {
      struct stat status{};
      // One that goes away while we look is not there.
      if (::stat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      if (at->path().string().ends_with(kPartEnding)) continue;
      item.files.push_back(file_of(fs::relative(at->path(), folder).generic_string(), status));
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return folder_fault(folder.string() + ": " + error.message());
    }
    std::ranges::sort(item.files, {}, &KeptFile::path);
    return item;
  }

  fs::path folder_;
};

}  // namespace

const KeptFile* KeptItem::file(std::string_view path) const {
  const auto found = std::ranges::find(files, path, &KeptFile::path);
  return found == files.end() ? nullptr : &*found;
}

std::unique_ptr<KeepStore> folder_store(const std::string& folder) {
  return std::make_unique<FolderStore>(fs::path(folder).lexically_normal().string());
}

}  // namespace orrery::agent
