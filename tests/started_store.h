// A store in a folder of a test, opened and kept as `orrery store` does it, in the test's own process
// and without threads; and the objects that it has acknowledged.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "live/s3/hash.h"
#include "live/upkeep/mend.h"
#include "live/upkeep/store_folder.h"
#include "live/upkeep/sweep.h"

namespace orrery::upkeep {

inline std::string bytes_of(std::mt19937& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

// An object as it was acknowledged.
struct Kept {
  std::string bucket;
  std::string key;
  std::string version;
  std::string bytes;
};

// A store in a folder, opened as `orrery store` does it, without its threads.
class Started {
 public:
  explicit Started(const std::string& folder, const std::vector<TierPlan>& tiers = {}) {
    auto opened = open_store_folder(folder, tiers, "0123456789abcdef");
    if (!opened) {
      refusal = opened.error().front();
      return;
    }
    folder_ = std::move(*opened);
    store::StoreSetting setting{
        .metadata = *folder_.metadata,
        .drives = folder_.drive_set(),
        .tiers = folder_.tiers,
        .now_ms = [this] { return now_ms_ += 1000; },
        .random_bytes = [this](std::size_t n) { return bytes_of(random_, n); }};
    setting.tiers.front().held_bytes_max = 8 << 10;
    setting.run_after = folder_.run_after;
    setting.agrees = [this] {
      const auto facts = store::facts_of(*folder_.metadata);
      return facts && folder_.witnesses->agrees(*facts);
    };
    store = std::make_unique<store::Store>(std::move(setting));
    auto good = store->measure();
    if (good) good = store->open();
    if (!good) {
      refusal = Diagnostic{.code = "store.open"};
      refusal->what = good.error().code + ' ' + good.error().message;
      store.reset();
      return;
    }
    EXPECT_TRUE(folder_.witnesses->begin(store->epoch()));
  }
  // Unless it dies, it ends in order.
  ~Started() {
    if (!store || dies) return;
    if (!end_run(*store)) return;
    store.reset();
    seal_store_folder(folder_);
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  // What the house does, until nothing is left to do; faults are no failures here.
  void keep_house() {
    (void)sweep_orphans(*store);
    (void)tend_aside(*store);
    Scrubber scrubber(*store);
    for (int i = 0; i < 100; ++i) {
      const auto more = scrubber.step(std::uint64_t{64} << 20);
      if (!more || !*more) break;
    }
    (void)store->collect();
    (void)add_well(*store, 8ull * 24 * 3600 * 1000);
    (void)tend_aside(*store);
  }

  rows::Blob written(const std::string& bytes) {
    store::BlobWriter writer = store->writer("hot");
    EXPECT_TRUE(writer.append(bytes));
    auto blob = writer.finish();
    EXPECT_TRUE(blob);
    return blob ? *blob : rows::Blob{};
  }
  Kept put(const std::string& bucket, const std::string& key, const std::string& bytes) {
    const rows::Blob blob = written(bytes);
    rows::Version version{.size = bytes.size(), .etag = "e"};
    version.extents = {{blob.id, bytes.size(), to_hex(s3::md5(bytes)), ""}};
    const auto done = store->put(bucket, key, version, {blob});
    EXPECT_TRUE(done);
    return {bucket, key, done ? done->id : "", bytes};
  }
  // "right", "wrong", "not there", or the code and the reason.
  std::string read(const Kept& kept) {
    const auto object =
        store->open_object(kept.bucket, kept.key, kept.version,
                           [](const rows::Version&) -> store::Answer<void> { return {}; });
    if (!object) {
      const store::Refused& why = object.error();
      return why.code.starts_with("NoSuch") ? "not there" : why.code + ' ' + why.message;
    }
    std::string bytes(kept.bytes.size(), '\0');
    const auto got = object->reader->read(0, bytes);
    if (!got) return store::refusal_of(got.error()).code + ' ' + got.error().what;
    return object->version.size == bytes.size() && bytes == kept.bytes ? "right" : "wrong";
  }

  std::unique_ptr<store::Store> store;
  std::optional<Diagnostic> refusal;
  bool dies = false;

 private:
  OpenedFolder folder_;
  rows::TimeMs now_ms_ = 1'700'000'000'000;
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace orrery::upkeep
