#include <algorithm>
#include <map>
#include <utility>

#include "live/agent/keep_store.h"

namespace orrery::agent {
namespace {

// Objects beyond this go up in parts, which is also what stores ask for from 5 GiB on.
constexpr std::uint64_t kOnePutMax = std::uint64_t{64} << 20;
constexpr std::size_t kPartBytes = std::size_t{32} << 20;

std::unexpected<Diagnostics> bucket_fault(const s3::Error& error) {
  Diagnostic d = s3::to_diagnostic(error);
  d.code = "lifecycle.bucket";
  return fail(std::move(d));
}

class BucketStore final : public KeepStore {
 public:
  BucketStore(std::shared_ptr<s3::Client> client, std::string prefix)
      : client_(std::move(client)), prefix_(std::move(prefix)) {
    if (!prefix_.empty() && !prefix_.ends_with('/')) prefix_ += '/';
  }

  Result<KeptListing> list() override {
    KeptListing listing;
    std::map<std::string, KeptItem> items;
    std::string token;
    do {
      const auto page = client_->list(prefix_, token);
      if (!page) return bucket_fault(page.error());
      for (const s3::Entry& entry : page->entries) place(entry, items, listing.beside);
      token = page->next;
    } while (!token.empty());
    for (auto& [id, item] : items) {
      std::ranges::sort(item.files, {}, &KeptFile::path);
      listing.items.push_back(std::move(item));
    }
    return listing;
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

  Result<void> write(const std::string& id, const std::string& path, std::uint64_t bytes,
                     const net::BodySource& source) override {
    const std::string key = key_of(id, path);
    if (bytes > kOnePutMax) {
      const auto put = client_->put_parts(key, bytes, source, kPartBytes);
      if (!put) return bucket_fault(put.error());
      return {};
    }
    const auto body = s3::Body::of(bytes, source);
    if (!body) return fail({.code = "lifecycle.bucket", .what = key + ": its source ended early"});
    const auto put = client_->put(key, *body);
    if (!put) return bucket_fault(put.error());
    return {};
  }

  Result<void> erase(const std::string& id, const std::string& path) override {
    const auto erased = client_->remove(key_of(id, path));
    if (!erased) return bucket_fault(erased.error());
    return {};
  }

 private:
  std::string key_of(const std::string& id, const std::string& path) const {
    return prefix_ + (id.empty() ? "" : id + "/") + path;
  }

  void place(const s3::Entry& entry, std::map<std::string, KeptItem>& items,
             std::vector<KeptFile>& beside) const {
    const std::string below = entry.key.substr(prefix_.size());
    const std::size_t slash = below.find('/');
    KeptFile file{.path = slash == std::string::npos ? below : below.substr(slash + 1),
                  .bytes = entry.bytes,
                  .stamp = entry.etag + "." + std::to_string(entry.bytes)};
    if (slash == std::string::npos) {
      beside.push_back(std::move(file));
    } else if (!file.path.empty()) {
      KeptItem& item = items[below.substr(0, slash)];
      item.id = below.substr(0, slash);
      item.files.push_back(std::move(file));
    }
  }

  std::shared_ptr<s3::Client> client_;
  std::string prefix_;
};

}  // namespace

std::unique_ptr<KeepStore> bucket_store(std::shared_ptr<s3::Client> client,
                                        const std::string& prefix) {
  return std::make_unique<BucketStore>(std::move(client), prefix);
}

}  // namespace orrery::agent
