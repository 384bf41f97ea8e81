// Counts how much the buckets hold.
#include "live/store/store.h"

namespace orrery::store {

void Usage::add(const std::string& bucket, std::int64_t bytes, std::int64_t objects) {
  const std::scoped_lock lock(mutex_);
  BucketUse& use = uses_[bucket];
  use.bytes += static_cast<std::uint64_t>(bytes);
  use.objects += static_cast<std::uint64_t>(objects);
}

BucketUse Usage::of(const std::string& bucket) const {
  const std::scoped_lock lock(mutex_);
  const auto at = uses_.find(bucket);
  return at == uses_.end() ? BucketUse{} : at->second;
}

std::map<std::string, BucketUse> Usage::all() const {
  const std::scoped_lock lock(mutex_);
  return uses_;
}

void Usage::set(std::map<std::string, BucketUse> uses) {
  const std::scoped_lock lock(mutex_);
  uses_ = std::move(uses);
}

Answer<void> Store::measure() {
  Usage counted;
  std::map<std::string, std::string> uploads;  // bucket by upload id
  const auto each =
      [&](char kind, const std::function<void(std::string_view key, std::string_view value)>& take)
      -> Answer<void> {
    const auto cursor = setting_.metadata.cursor();
    const std::string base(1, kind);
    for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base); cursor->next()) {
      take(cursor->key(), cursor->value());
    }
    if (auto state = cursor->state(); !state) return refused(state.error());
    return {};
  };
  const auto take_version = [&](std::string_view key, std::string_view value) {
    const auto version = rows::decode_version(value);
    if (!version || version->marker) return;
    counted.add(std::string(key.substr(1, key.find('\0') - 1)),
                static_cast<std::int64_t>(version->size), 1);
  };
  if (auto good = each('o', take_version); !good) return good;
  if (auto good = each('v', take_version); !good) return good;
  const auto take_upload = [&](std::string_view, std::string_view value) {
    if (const auto upload = rows::decode_upload(value)) uploads[upload->id] = upload->bucket;
  };
  if (auto good = each('u', take_upload); !good) return good;
  const auto take_part = [&](std::string_view key, std::string_view value) {
    const auto part = rows::decode_part(value);
    const auto upload = uploads.find(std::string(key.substr(1, key.find('\0') - 1)));
    if (!part || upload == uploads.end()) return;
    counted.add(upload->second, static_cast<std::int64_t>(part->extent.size), 0);
  };
  if (auto good = each('p', take_part); !good) return good;
  usage_.set(counted.all());
  return {};
}

}  // namespace orrery::store
