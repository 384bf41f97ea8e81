#include "live/store/mend.h"

#include <fmt/core.h>

#include <algorithm>

namespace orrery::store {
namespace {

constexpr std::size_t kFaultsMax = 100;

// For a shard whose drive is not there: one of its tier that holds nothing of the blob.
std::string drive_for(const Store& store, const Blob& blob, std::size_t shard) {
  const DriveSet& drives = store.setting().drives;
  const auto there = [&](const std::string& name) {
    const auto at = drives.find(name);
    return at != drives.end() && at->second != nullptr;
  };
  if (there(blob.shards[shard].drive)) return blob.shards[shard].drive;
  const auto tier = std::ranges::find(store.setting().tiers, blob.tier, &Tier::name);
  if (tier == store.setting().tiers.end()) return {};
  for (const std::string& name : tier->drives) {
    if (there(name) &&
        std::ranges::find(blob.shards, name, &ShardPlace::drive) == blob.shards.end()) {
      return name;
    }
  }
  return {};
}

Answer<std::optional<Blob>> blob_row(Store& store, const std::string& id) {
  const auto found = store.metadata().get(row::blob(id));
  if (!found) return refused(found.error());
  if (!*found) return std::nullopt;
  return decode_blob(**found);
}

// One shard anew and named; nullopt where the blob's row was changed meanwhile.
Answer<std::optional<Fault>> mend_shard(Store& store, Blob& blob, int shard) {
  const auto at = static_cast<std::size_t>(shard);
  const std::string name = drive_for(store, blob, at);
  if (name.empty()) return Fault{PortFault::missing, "no drive is free for the shard"};
  Drive& drive = *store.setting().drives.at(name);
  BlobReader from(store.setting().drives, blob);
  Blob fresh = blob;
  fresh.shards[at] = {name, store.fresh_revision(blob.shards[at].revision)};
  const std::string file = shard_name(blob.id, shard, fresh.shards[at].revision);
  if (auto written = write_shard(from, shard, drive, fresh.shards[at].revision); !written) {
    (void)drive.remove(file);
    return written.error();
  }
  Commit commit{.expects = {{row::blob(blob.id), encode(blob)}},
                .changes = {{row::blob(blob.id), encode(fresh)}}};
  store.fence_run(commit, store.epoch());
  const auto done = store.metadata().commit(commit);
  if (!done) return refused(done.error());
  if (!*done) {
    (void)drive.remove(file);
    return Fault{PortFault::failed, "the blob was changed meanwhile"};
  }
  const auto old = store.setting().drives.find(blob.shards[at].drive);
  if (old != store.setting().drives.end() && old->second) {
    (void)old->second->remove(shard_name(blob.id, shard, blob.shards[at].revision));
  }
  blob = std::move(fresh);
  return std::nullopt;
}

bool is_remote(const DriveSet& drives, const Blob& blob, int shard) {
  const auto at = drives.find(blob.shards[static_cast<std::size_t>(shard)].drive);
  return at != drives.end() && at->second && at->second->is_remote();
}

}  // namespace

ShardCheck check_shards(const DriveSet& drives, const Blob& blob) {
  ShardCheck check;
  BlobReader reader(drives, blob);
  if (!blob.held.empty()) {
    check.bytes = blob.held.size();
    check.lost = !reader.check_held();
    return check;
  }
  for (int shard = 0; shard < blob.plan.total(); ++shard) {
    const auto header = reader.check_header(shard);
    std::optional<Fault> wrong = header ? std::nullopt : std::optional(header.error());
    // Reading another store through would cost more than it finds: it looks after its own disks.
    const std::uint64_t stripes = is_remote(drives, blob, shard) ? 0 : reader.stripes();
    for (std::uint64_t stripe = 0; !wrong && stripe < stripes; ++stripe) {
      const auto block = reader.raw_block(shard, stripe);
      if (block) {
        check.bytes += block->size();
      } else {
        wrong = block.error();
      }
    }
    if (wrong) (wrong->kind == PortFault::busy ? check.unasked : check.damaged).insert(shard);
  }
  return check;
}

Answer<Mended> mend_blob(Store& store, const std::string& id, const std::set<int>& damaged) {
  Mended mended;
  store.pins().pin(id);  // the sweep leaves its new files alone
  auto blob = blob_row(store, id);
  if (!blob || !*blob) {
    store.pins().unpin(id);
    if (!blob) return std::unexpected(blob.error());
    return mended;  // removed meanwhile
  }
  Answer<Mended> result = mended;
  for (const int shard : damaged) {
    const auto fault = mend_shard(store, **blob, shard);
    if (!fault) {
      result = std::unexpected(fault.error());
      break;
    }
    if (*fault) {
      result->fault = **fault;
      break;
    }
    ++result->shards;
  }
  store.pins().unpin(id);
  return result;
}

Answer<bool> Scrubber::step(std::uint64_t bytes) {
  const std::uint64_t paid = std::min(owed_, bytes);
  owed_ -= paid;
  bytes -= paid;
  if (bytes == 0) return true;
  const std::string base = row::blob("");
  const auto cursor = store_.metadata().cursor();
  std::uint64_t read = 0;
  for (cursor->seek(after_.empty() ? base : after_ + '\0');
       cursor->valid() && cursor->key().starts_with(base) && read < bytes; cursor->next()) {
    after_ = cursor->key();
    const auto blob = decode_blob(cursor->value());
    if (!blob) continue;
    const ShardCheck check = check_shards(store_.setting().drives, *blob);
    read += check.bytes + 1;
    ++counts_.blobs;
    counts_.bytes += check.bytes;
    if (check.lost) ++counts_.lost;
    if (check.damaged.empty()) continue;
    const auto mended = mend_blob(store_, blob->id, check.damaged);
    if (!mended) return std::unexpected(mended.error());
    if (mended->shards == 0 && !mended->fault) continue;  // the object was removed meanwhile
    counts_.damaged += check.damaged.size();
    counts_.mended += static_cast<std::uint64_t>(mended->shards);
    if (mended->fault && mended->fault->kind == PortFault::corrupt) ++counts_.lost;
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  owed_ += read - std::min(read, bytes);
  if (cursor->valid() && cursor->key().starts_with(base)) return true;
  after_.clear();
  ++counts_.rounds;
  return false;
}

namespace {

class Checker {
 public:
  Checker(Store& store, bool deep) : store_(store), deep_(deep) {}

  Answer<StoreCheck> run() {
    for (const char kind : {'b', 'o', 'v', 'p', 's', 'g'}) {
      const std::string base(1, kind);
      const auto cursor = store_.metadata().cursor();
      for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base); cursor->next()) {
        take(kind, cursor->key(), cursor->value());
      }
      if (auto state = cursor->state(); !state) return refused(state.error());
    }
    for (const std::string& id : named_) {
      ++check_.lost_blobs;
      say("a version names blob " + id + ", which has no row");
    }
    if (auto good = look_for_orphans(); !good) return std::unexpected(good.error());
    return std::move(check_);
  }

 private:
  void say(std::string what) {
    if (check_.faults.size() < kFaultsMax) check_.faults.push_back(std::move(what));
  }

  // `p` comes before `s`: all that names a blob is known before the blobs are looked at.
  void take(char kind, std::string_view key, std::string_view value) {
    if (kind == 'b') {
      const auto bucket = decode_bucket(value);
      ++check_.buckets;
      if (bucket) {
        buckets_.insert(bucket->name);
      } else {
        say("the row of a bucket is unreadable");
      }
    } else if (kind == 'o' || kind == 'v') {
      take_version(key, value);
    } else if (kind == 'p') {
      if (const auto part = decode_part(value)) name(part->extent);
    } else {
      take_blob(kind, value);
    }
  }

  void name(const Extent& extent) {
    if (!extent.blob.empty()) named_.insert(extent.blob);
  }

  void take_version(std::string_view key, std::string_view value) {
    const auto version = decode_version(value);
    if (!version) return say("the row of a version is unreadable");
    const std::string bucket(key.substr(1, key.find('\0') - 1));
    if (!buckets_.contains(bucket))
      say("a version lies in bucket " + bucket + ", which is not there");
    ++check_.versions;
    check_.bytes += version->size;
    for (const Extent& extent : all_extents(*version)) name(extent);
  }

  void take_blob(char kind, std::string_view value) {
    const auto blob = decode_blob(value);
    if (!blob) return say("the row of a blob is unreadable");
    for (std::size_t i = 0; i < blob->shards.size(); ++i) {
      files_.insert({blob->shards[i].drive,
                     shard_name(blob->id, static_cast<int>(i), blob->shards[i].revision)});
    }
    if (kind == 'g') return;
    ++check_.blobs;
    if (named_.erase(blob->id) == 0) {
      ++check_.unreferenced;
      say("nothing names blob " + blob->id);
    }
    const ShardCheck looked = deep_ || !blob->held.empty()
                                  ? check_shards(store_.setting().drives, *blob)
                                  : missing_shards(*blob);
    const std::set<int>& damaged = looked.damaged;
    if (!looked.unasked.empty()) {
      say("a drive of blob " + blob->id + " does not answer: nothing is known of it");
    }
    if (looked.lost) {
      ++check_.lost_blobs;
      say("the bytes in the row of blob " + blob->id + " are wrong");
    }
    check_.damaged_shards += damaged.size();
    if (static_cast<int>(damaged.size()) > blob->plan.parity) {
      ++check_.lost_blobs;
      say("blob " + blob->id + " has too few good shards");
    }
  }

  ShardCheck missing_shards(const Blob& blob) {
    ShardCheck check;
    BlobReader reader(store_.setting().drives, blob);
    for (int i = 0; i < blob.plan.total(); ++i) {
      const auto header = reader.check_header(i);
      if (header) continue;
      (header.error().kind == PortFault::busy ? check.unasked : check.damaged).insert(i);
    }
    return check;
  }

  Answer<void> look_for_orphans() {
    for (const auto& [id, drive] : store_.setting().drives) {
      if (!drive) continue;
      const auto names = drive->list();
      if (!names) return refused(names.error());
      for (const std::string& file : *names) {
        if (!shard_name_of(file) || files_.contains({id, file})) continue;
        ++check_.orphans;
        say(fmt::format("no row names the file {} of drive {}", file, id));
      }
    }
    return {};
  }

  Store& store_;
  bool deep_;
  StoreCheck check_;
  std::set<std::string> buckets_;
  std::set<std::string> named_;  // blobs that something names and that have not come yet
  std::set<std::pair<std::string, std::string>> files_;
};

}  // namespace

Answer<StoreCheck> check_store(Store& store, bool deep) { return Checker(store, deep).run(); }

}  // namespace orrery::store
