#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "layers/storage/lifecycle_aside.h"
#include "live/agent/keep_lease.h"
#include "live/agent/keep_store.h"

namespace orrery::agent {
namespace {

// Larger objects are uploaded in parts, which stores require from 5 GiB on.
constexpr std::uint64_t kOnePutMax = std::uint64_t{64} << 20;
constexpr std::size_t kPartBytes = std::size_t{32} << 20;

std::unexpected<Diagnostics> bucket_fault(const s3::Error& error) {
  Diagnostic d = s3::to_diagnostic(error);
  d.code = "lifecycle.bucket";
  return fail(std::move(d));
}

std::string stamp_of(const std::string& etag, std::uint64_t bytes) {
  return etag + "." + std::to_string(bytes);
}

std::unexpected<Diagnostics> bad_key(const std::string& key, const std::string& fault) {
  return fail({.code = "lifecycle.bucket", .what = key + ": " + fault});
}

// To set an item aside, a small object PREFIX/.orrery-trash/NAME hides it; its objects stay in
// place. Removing that object brings the item back.
class BucketStore final : public KeepStore {
 public:
  BucketStore(std::shared_ptr<s3::Client> client, std::string prefix, KeepOwner owner,
              std::function<Seconds()> up)
      : client_(std::move(client)), prefix_(std::move(prefix)), owner_(std::move(owner)) {
    if (!prefix_.empty() && !prefix_.ends_with('/')) prefix_ += '/';
    if (!owner_.id.empty()) lease_.emplace(client_, prefix_, owner_, std::move(up));
  }

  Result<void> hold() override { return lease_ ? lease_->hold() : Result<void>(); }
  void release() override {
    if (lease_) lease_->release();
  }

  Result<KeptListing> list() override {
    Sorted sorted;
    std::string token;
    do {
      const auto page = client_->list(prefix_, token);
      if (!page) return bucket_fault(page.error());
      for (const s3::Entry& entry : page->entries) place(entry, sorted);
      token = page->next;
    } while (!token.empty());
    return listing_of(std::move(sorted));
  }

  Result<net::BodySource> read(const std::string& id, const KeptFile& file) override {
    return [client = client_, key = key_of(id, file.path), bytes = file.bytes](
               std::uint64_t offset, std::span<char> into) -> std::optional<std::size_t> {
      if (offset >= bytes) return 0;
      const std::uint64_t count = std::min<std::uint64_t>(into.size(), bytes - offset);
      std::size_t taken = 0;
      const s3::Writer writer{.take =
                                  [&](std::string_view piece) {
                                    if (taken + piece.size() > count) return false;
                                    std::ranges::copy(piece, into.data() + taken);
                                    taken += piece.size();
                                    return true;
                                  },
                              .restart = [&] { return taken = 0, true; }};
      const auto got = client->get_range(key, offset, count, writer);
      return got && taken == count ? std::optional(taken) : std::nullopt;
    };
  }

  Result<void> begin(const std::string& id, unsigned) override {
    if (const std::string fault = kept_path_fault(id); !fault.empty()) return bad_key(id, fault);
    if (auto marked = put_small(begun_key(id), owner_.id); !marked) return marked;
    // Removed in this order: first the file that marks a copy as complete, then the others, then
    // the object that hides the item.
    const auto seen = list();
    if (!seen) return std::unexpected(seen.error());
    const auto item = std::ranges::find(seen->items, id, &KeptItem::id);
    if (item != seen->items.end()) {
      if (auto gone = remove_files(*item); !gone) return gone;
    }
    for (const KeptAside& aside : seen->aside) {
      if (aside.item.id != id) continue;
      if (auto gone = remove_files(aside.item); !gone) return gone;
      if (auto gone = remove_marks(aside.name); !gone) return gone;
    }
    return {};
  }

  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    if (const std::string fault = kept_path_fault(id); !fault.empty()) return bad_key(id, fault);
    if (const std::string fault = kept_path_fault(path); !fault.empty()) {
      return bad_key(id + '/' + path, fault);
    }
    const std::string key = key_of(id, path);
    if (bytes > kOnePutMax) {
      // If the lease cannot be renewed, the upload ends between two parts.
      const auto lost = [this] { return !hold(); };
      const auto put = client_->put_parts(key, bytes, source, kPartBytes, lost);
      if (!put) return bucket_fault(put.error());
      return {};
    }
    const auto body = s3::Body::of(bytes, source);
    if (!body) {
      return fail({.code = "lifecycle.bucket",
                   .what = key + ": the source ended before all bytes "
                                 "were read"});
    }
    const auto put = client_->put(key, *body);
    if (!put) return bucket_fault(put.error());
    return {};
  }

  Result<void> finish(const std::string& id) override { return erase(begun_key(id)); }
  // The objects are listed as begun, and begin() removes them.
  void give_up(const std::string&) override {}

  Result<void> set_aside(const KeptItem& item, const std::string& name) override {
    const std::string key = prefix_ + std::string(kAsideFolder) + '/' + name;
    const auto put = client_->put_new(key, s3::Body::of(text_of(owner_)));
    if (!put) return bucket_fault(put.error());
    auto same = check_unchanged(item);
    if (!same) (void)client_->remove(key);
    return same;
  }

  Result<void> purge(const KeptAside& aside) override {
    if (!aside.is_going) {
      if (auto same = check_unchanged(aside.item); !same) return same;
      const std::string going = prefix_ + std::string(kAsideFolder) + '/' + aside.name;
      if (auto marked = put_small(going + kGoingEnding, owner_.id); !marked) return marked;
    }
    if (auto gone = remove_files(aside.item); !gone) return gone;
    if (aside.item.begun) {
      if (auto gone = erase(begun_key(aside.item.id)); !gone) return gone;
    }
    return remove_marks(aside.name);
  }

 private:
  struct Sorted {
    std::map<std::string, KeptItem> items;
    std::vector<KeptFile> beside;
    std::map<std::string, bool> aside;  // by name; true once purge() has begun
  };

  std::string key_of(const std::string& id, const std::string& path) const {
    return prefix_ + (id.empty() ? "" : id + "/") + path;
  }

  std::string begun_key(const std::string& id) const {
    return key_of(id, std::string(kBegunMark));
  }

  Result<void> put_small(const std::string& key, const std::string& text) {
    const auto put = client_->put(key, s3::Body::of(text));
    if (!put) return bucket_fault(put.error());
    return {};
  }
  Result<void> erase(const std::string& key) {
    const auto erased = client_->remove(key);
    if (!erased) return bucket_fault(erased.error());
    return {};
  }

  // Every object is checked again before it is removed, because not all stores support removal by
  // ETag. Between the two requests only an agent that ignores the lease could write the object.
  Result<void> remove_files(const KeptItem& item) {
    if (!item.odd.empty()) return bad_key(item.id, item.odd);
    const auto goes_first = [](const KeptFile& file) { return file.path == ".orrery-copy.json"; };
    std::vector<KeptFile> files = item.files;
    std::ranges::stable_partition(files, goes_first);
    for (const KeptFile& file : files) {
      if (auto held = hold(); !held) return held;
      const std::string key = key_of(item.id, file.path);
      const auto head = client_->head(key);
      if (!head && head.error().fault == s3::Fault::absent) continue;
      if (!head) return bucket_fault(head.error());
      const bool has_etag = !file.stamp.starts_with('.');
      if (head->bytes != file.bytes ||
          (has_etag && stamp_of(head->etag, file.bytes) != file.stamp)) {
        return bad_key(key, "the object was replaced since it was listed");
      }
      if (auto gone = erase(key); !gone) return gone;
    }
    return {};
  }

  Result<void> remove_marks(const std::string& name) {
    const std::string key = prefix_ + std::string(kAsideFolder) + '/' + name;
    if (auto gone = erase(key); !gone) return gone;
    return erase(key + kGoingEnding);
  }

  Result<void> check_unchanged(const KeptItem& item) {
    const auto seen = list();
    if (!seen) return std::unexpected(seen.error());
    for (const KeptAside& aside : seen->aside) {
      if (aside.item.id == item.id && aside.item.files == item.files) return {};
    }
    return bad_key(prefix_ + item.id, "it changed since it was last checked");
  }

  void place(const s3::Entry& entry, Sorted& sorted) const {
    const std::string below = entry.key.substr(std::min(entry.key.size(), prefix_.size()));
    const std::size_t slash = below.find('/');
    KeptFile file{.path = slash == std::string::npos ? below : below.substr(slash + 1),
                  .bytes = entry.bytes,
                  .stamp = stamp_of(entry.etag, entry.bytes)};
    const std::string id = slash == std::string::npos ? "" : below.substr(0, slash);
    if (id == kAsideFolder) {
      const bool is_going = file.path.ends_with(kGoingEnding);
      if (is_going) file.path.pop_back();
      sorted.aside[file.path] = sorted.aside[file.path] || is_going;
    } else if (below.starts_with(kOwnPrefix)) {
      return;
    } else if (slash == std::string::npos) {
      sorted.beside.push_back(std::move(file));
    } else if (!file.path.empty()) {
      KeptItem& item = sorted.items[id];
      item.id = id;
      if (file.path == kBegunMark) {
        item.begun = true;
        return;
      }
      std::string fault = kept_path_fault(id);
      if (fault.empty()) fault = kept_path_fault(file.path);
      if (!fault.empty()) item.odd = entry.key + ": " + fault;
      item.files.push_back(std::move(file));
    }
  }

  static KeptListing listing_of(Sorted sorted) {
    KeptListing listing{.items = {}, .beside = std::move(sorted.beside)};
    for (auto& [id, item] : sorted.items) std::ranges::sort(item.files, {}, &KeptFile::path);
    for (const auto& [name, is_going] : sorted.aside) {
      const std::string id = storage::item_of_aside(name);
      const auto item = sorted.items.find(id);
      listing.aside.push_back(
          {.name = name,
           .item = item == sorted.items.end() ? KeptItem{.id = id, .files = {}} : item->second,
           .is_going = is_going});
    }
    for (const KeptAside& aside : listing.aside) sorted.items.erase(aside.item.id);
    for (auto& [id, item] : sorted.items) listing.items.push_back(std::move(item));
    return listing;
  }

  std::shared_ptr<s3::Client> client_;
  std::string prefix_;
  KeepOwner owner_;
  std::optional<BucketLease> lease_;
};

}  // namespace

std::unique_ptr<KeepStore> bucket_store(std::shared_ptr<s3::Client> client,
                                        const std::string& prefix, KeepOwner owner,
                                        std::function<Seconds()> up) {
  return std::make_unique<BucketStore>(std::move(client), prefix, std::move(owner), std::move(up));
}

}  // namespace orrery::agent
