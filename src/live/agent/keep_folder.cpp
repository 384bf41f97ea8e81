#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "layers/storage/lifecycle_aside.h"
#include "live/agent/keep_store.h"
#include "live/agent/probe_folder.h"
#include "live/files/lock.h"
#include "live/files/tree.h"

namespace orrery::agent {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

std::unexpected<Diagnostics> folder_fault(std::string what) {
  return fail({.code = "lifecycle.folder", .what = std::move(what)});
}

// Turns a fault of files/ into one with this room's code.
std::unexpected<Diagnostics> folder_fault(Diagnostics all) {
  for (Diagnostic& d : all) d.code = "lifecycle.folder";
  return std::unexpected(std::move(all));
}

template <class T>
Result<void> as_folder_fault(Result<T> done) {
  if (!done) return folder_fault(std::move(done.error()));
  return {};
}

KeptFile kept_file(const files::TreeFile& file) {
  const double written =
      static_cast<double>(file.written_s) + static_cast<double>(file.written_ns) * 1e-9;
  return {.path = file.path,
          .bytes = file.bytes,
          .stamp = std::to_string(file.bytes) + "." + std::to_string(file.written_s) + "." +
                   std::to_string(file.written_ns) + "." + std::to_string(file.changed_s) + "." +
                   std::to_string(file.changed_ns) + "." + std::to_string(file.id.inode),
          .written = seconds(written)};
}

KeptItem kept_item(const std::string& id, const files::Tree& tree) {
  KeptItem item{.id = id, .mode = tree.mode};
  for (const files::TreeFile& file : tree.files) item.files.push_back(kept_file(file));
  if (!tree.odd.empty()) item.odd = tree.odd.front().path + ": " + tree.odd.front().what;
  const auto look_at = [&item](const std::string& path) {
    if (const std::string fault = kept_path_fault(path); !fault.empty()) {
      item.odd = path + ": " + fault;
    }
  };
  for (const std::string& path : tree.folders) look_at(path);
  for (const KeptFile& file : item.files) look_at(file.path);
  if (const std::string fault = kept_path_fault(id); !fault.empty()) item.odd = fault;
  return item;
}

Result<void> write_pieces(int file, const std::string& path, std::uint64_t bytes,
                          const net::BodySource& source) {
  std::vector<char> piece(kPieceBytes);
  std::uint64_t done = 0;
  while (done < bytes) {
    const auto got = source(done, piece);
    if (!got || *got == 0) {
      return folder_fault(path + ": the source ended before all bytes were read");
    }
    for (std::size_t put = 0; put < *got;) {
      const ssize_t wrote = ::write(file, piece.data() + put, *got - put);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return folder_fault(failed(path, "write"));
      put += static_cast<std::size_t>(wrote);
    }
    done += *got;
  }
  return {};
}

class FolderStore final : public KeepStore {
 public:
  FolderStore(std::string path, KeepOwner owner)
      : path_(std::move(path)), owner_(std::move(owner)) {}

  Result<void> hold() override {
    if (owner_.id.empty()) return {};
    auto folder = files::Folder::open(path_, !lock_);
    if (!folder) return folder_fault(std::move(folder.error()));
    if (lock_) {
      const auto now = folder->id(), then = folder_->id();
      if (!now || !then || *now != *then) {
        return folder_fault(path_ + ": this is no longer the folder that the agent locked; " +
                            "a file system may have been mounted or unmounted");
      }
      if (lock_->holds(*folder_)) return {};
      return folder_fault(path_ + ": the agent's lock file " + files::kLockName +
                          " was removed or replaced; restart the agent");
    }
    auto lock = files::FolderLock::take(*folder, text_of(owner_));
    if (!lock && lock.error().front().code == "files.locked") {
      return fail(
          {.code = "lifecycle.busy",
           .place = {.file = path_},
           .what = "another agent uses this place: " + told_of_owner(lock.error().front().what),
           .why = "with different rules, each agent could remove the copy that the other relies on",
           .fix = "stop that agent, or let one agent manage both sets of places"});
    }
    if (!lock) return folder_fault(std::move(lock.error()));
    folder_.emplace(std::move(*folder));
    lock_.emplace(std::move(*lock));
    return {};
  }
  void release() override {
    lock_.reset();
    folder_.reset();
  }

  Result<KeptListing> list() override {
    KeptListing listing;
    std::error_code error;
    // A folder that does not exist yet is empty; one that cannot be examined is a fault.
    if (!lock_ && !std::filesystem::exists(path_, error)) {
      if (error) return folder_fault(path_ + ": " + error.message());
      return listing;
    }
    const auto root = opened(false);
    if (!root) return folder_fault(root.error());
    const auto top = files::level(*root);
    if (!top) return folder_fault(top.error());
    for (const std::string& id : top->folders) {
      if (id.starts_with(kOwnPrefix)) continue;
      auto item = item_at(*root, id);
      if (!item) return folder_fault(item.error());
      if (*item) listing.items.push_back(std::move(**item));
    }
    for (const files::TreeFile& file : top->files) {
      if (!file.path.starts_with(kOwnPrefix)) listing.beside.push_back(kept_file(file));
    }
    if (auto seen = list_aside(*root, listing); !seen) return folder_fault(seen.error());
    std::ranges::sort(listing.items, {}, &KeptItem::id);
    return listing;
  }

  Result<net::BodySource> read(const std::string& id, const KeptFile& file) override {
    const auto root = opened(false);
    if (!root) return folder_fault(root.error());
    auto opened_file = root->read(id.empty() ? file.path : id + '/' + file.path);
    if (!opened_file) return folder_fault(opened_file.error());
    auto shared = std::make_shared<OpenFile>(std::move(*opened_file));
    return [shared](std::uint64_t offset, std::span<char> into) -> std::optional<std::size_t> {
      const ssize_t got =
          ::pread(shared->get(), into.data(), into.size(), static_cast<off_t>(offset));
      return got < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(got));
    };
  }

  Result<void> begin(const std::string& id, unsigned mode) override {
    const auto incoming = own_folder(kIncomingFolder);
    if (!incoming) return folder_fault(incoming.error());
    if (auto cleared = clear(*incoming, id); !cleared) return cleared;
    const auto item = incoming->below(id, true);
    if (!item) return folder_fault(item.error());
    // What only its owner could read stays so: the folder that is made is narrowed, never widened.
    struct stat made{};
    const bool is_narrow = ::fstat(item->get(), &made) == 0 &&
                           ::fchmod(item->get(), made.st_mode & (mode | S_IRWXU)) == 0;
    if (!is_narrow) return folder_fault(failed(item->path(), "chmod"));
    return {};
  }

  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    const auto incoming = own_folder(kIncomingFolder);
    if (!incoming) return folder_fault(incoming.error());
    const auto item = incoming->below(id, true);
    if (!item) return folder_fault(item.error());
    const std::string name = item->path() + '/' + path;
    return as_folder_fault(
        item->write(path, [&](int file) { return write_pieces(file, name, bytes, source); }));
  }

  Result<void> finish(const std::string& id) override {
    const auto root = opened(true);
    if (!root) return folder_fault(root.error());
    const auto incoming = own_folder(kIncomingFolder);
    if (!incoming) return folder_fault(incoming.error());
    return as_folder_fault(incoming->move(id, *root, id));
  }

  void give_up(const std::string& id) override {
    if (const auto incoming = own_folder(kIncomingFolder)) (void)clear(*incoming, id);
  }

  Result<void> set_aside(const KeptItem& item, const std::string& name) override {
    const auto root = opened(false);
    if (!root) return folder_fault(root.error());
    const auto trash = own_folder(kAsideFolder);
    if (!trash) return folder_fault(trash.error());
    if (auto moved = root->move(item.id, *trash, name); !moved) return folder_fault(moved.error());
    // Checked again in the trash, where only the agent writes, in case the item changed before it
    // was moved.
    const auto tree = files::walk(*trash, name);
    if (tree && kept_item(item.id, *tree).files == item.files && tree->odd.empty()) return {};
    (void)trash->move(name, *root, item.id);
    return folder_fault(root->path() + '/' + item.id +
                        ": it changed while it was being moved to "
                        "the trash");
  }

  Result<void> purge(const KeptAside& aside) override {
    const auto trash = own_folder(kAsideFolder);
    if (!trash) return folder_fault(trash.error());
    const std::string going = aside.name + kGoingEnding;
    if (!aside.is_going) {
      if (auto moved = trash->move(aside.name, *trash, going); !moved) {
        return folder_fault(moved.error());
      }
    }
    const auto tree = files::walk(*trash, going);
    if (!tree) return folder_fault(tree.error());
    if (!aside.is_going && kept_item(aside.item.id, *tree).files != aside.item.files) {
      (void)trash->move(going, *trash, aside.name);
      return folder_fault(trash->path() + '/' + aside.name +
                          ": it changed since it was last "
                          "checked");
    }
    return as_folder_fault(files::remove(*trash, going, *tree));
  }

 private:
  // Returns the place's folder: the locked one, or else the one that its path leads to now.
  Result<files::Folder> opened(bool make) const {
    if (folder_) return folder_->itself();
    return files::Folder::open(path_, make);
  }
  Result<files::Folder> own_folder(std::string_view name) const {
    const auto root = opened(true);
    if (!root) return std::unexpected(root.error());
    return root->below(name, true);
  }

  static Result<void> clear(const files::Folder& incoming, const std::string& id) {
    if (const std::string fault = kept_path_fault(id); !fault.empty()) {
      return folder_fault(incoming.path() + '/' + id + ": " + fault);
    }
    const auto is_there = incoming.has(id);
    if (!is_there) return folder_fault(is_there.error());
    if (!*is_there) return {};
    const auto tree = files::walk(incoming, id);
    if (!tree) return folder_fault(tree.error());
    return as_folder_fault(files::remove(incoming, id, *tree));
  }

  // Returns nullopt if the item no longer exists; it is odd if it cannot be examined.
  static Result<std::optional<KeptItem>> item_at(const files::Folder& folder,
                                                 const std::string& id) {
    const auto tree = files::walk(folder, id);
    if (tree) return kept_item(id, *tree);
    const auto is_there = folder.has(id);
    if (!is_there) return std::unexpected(is_there.error());
    if (!*is_there) return std::nullopt;
    return KeptItem{.id = id, .files = {}, .odd = tree.error().front().what};
  }

  static Result<void> list_aside(const files::Folder& root, KeptListing& listing) {
    const auto is_there = root.has(kAsideFolder);
    if (!is_there) return std::unexpected(is_there.error());
    if (!*is_there) return {};
    const auto trash = root.below(kAsideFolder);
    if (!trash) return std::unexpected(trash.error());
    const auto top = files::level(*trash);
    if (!top) return std::unexpected(top.error());
    for (std::string name : top->folders) {
      auto item = item_at(*trash, name);
      if (!item) return std::unexpected(item.error());
      if (!*item) continue;
      KeptAside aside{.item = std::move(**item)};
      aside.is_going = name.ends_with(kGoingEnding);
      if (aside.is_going) name.pop_back();
      aside.item.id = storage::item_of_aside(name);
      aside.name = std::move(name);
      listing.aside.push_back(std::move(aside));
    }
    std::ranges::sort(listing.aside, {}, &KeptAside::name);
    return {};
  }

  std::string path_;
  KeepOwner owner_;
  std::optional<files::Folder> folder_;
  std::optional<files::FolderLock> lock_;
};

}  // namespace

std::unique_ptr<KeepStore> folder_store(const std::string& folder, KeepOwner owner) {
  return std::make_unique<FolderStore>(folder, std::move(owner));
}

}  // namespace orrery::agent
