#include "live/upkeep/mend.h"

#include <algorithm>

namespace orrery::upkeep {
namespace {

// Returns the drive for a shard: its own, or if that is missing, a drive of the tier that holds no
// shard of the blob.
std::string drive_for(const store::Store& store, const rows::Blob& blob, std::size_t shard) {
  const store::DriveSet& drives = store.setting().drives;
  const auto there = [&](const std::string& name) {
    const auto at = drives.find(name);
    return at != drives.end() && at->second != nullptr;
  };
  if (there(blob.shards[shard].drive)) return blob.shards[shard].drive;
  const auto tier = std::ranges::find(store.setting().tiers, blob.tier, &store::Tier::name);
  if (tier == store.setting().tiers.end()) return {};
  for (const std::string& name : tier->drives) {
    if (there(name) &&
        std::ranges::find(blob.shards, name, &rows::ShardPlace::drive) == blob.shards.end()) {
      return name;
    }
  }
  return {};
}

store::Answer<std::optional<rows::Blob>> blob_row(store::Store& store, const std::string& id) {
  const auto found = store.metadata().get(rows::row::blob(id));
  if (!found) return store::refused(found.error());
  if (!*found) return std::nullopt;
  return rows::decode_blob(**found);
}

// Rebuilds one shard and commits its new place. Returns a fault if that fails, or if the blob's row
// was changed in the meantime.
store::Answer<std::optional<drives::Fault>> mend_shard(store::Store& store, rows::Blob& blob,
                                                       int shard) {
  const auto at = static_cast<std::size_t>(shard);
  const std::string name = drive_for(store, blob, at);
  if (name.empty())
    return drives::Fault{drives::PortFault::missing, "no drive is available for the shard"};
  drives::Drive& drive = *store.setting().drives.at(name);
  store::BlobReader from(store.setting().drives, blob);
  rows::Blob fresh = blob;
  fresh.shards[at] = {name, store.fresh_revision(blob.shards[at].revision)};
  const std::string file = store::shard_name(blob.id, shard, fresh.shards[at].revision);
  if (auto written = store::write_shard(from, shard, drive, fresh.shards[at].revision); !written) {
    (void)drive.remove(file);
    return written.error();
  }
  rows::Commit commit{.expects = {{rows::row::blob(blob.id), rows::encode(blob)}},
                      .changes = {{rows::row::blob(blob.id), rows::encode(fresh)}}};
  store.fence_run(commit, store.epoch());
  const auto done = store.metadata().commit(commit);
  if (!done) return store::refused(done.error());
  if (!*done) {
    (void)drive.remove(file);
    return drives::Fault{drives::PortFault::failed, "the blob was changed in the meantime"};
  }
  const auto old = store.setting().drives.find(blob.shards[at].drive);
  if (old != store.setting().drives.end() && old->second) {
    (void)old->second->remove(store::shard_name(blob.id, shard, blob.shards[at].revision));
  }
  blob = std::move(fresh);
  return std::nullopt;
}

bool is_remote(const store::DriveSet& drives, const rows::Blob& blob, int shard) {
  const auto at = drives.find(blob.shards[static_cast<std::size_t>(shard)].drive);
  return at != drives.end() && at->second && at->second->is_remote();
}

}  // namespace

ShardCheck check_shards(const store::DriveSet& drives, const rows::Blob& blob) {
  ShardCheck check;
  store::BlobReader reader(drives, blob);
  if (!blob.held.empty()) {
    check.bytes = blob.held.size();
    check.lost = !reader.check_held();
    return check;
  }
  for (int shard = 0; shard < blob.plan.total(); ++shard) {
    const auto header = reader.check_header(shard);
    std::optional<drives::Fault> wrong = header ? std::nullopt : std::optional(header.error());
    // Reading everything from another store would cost more than it is worth: that store checks its
    // own disks.
    const std::uint64_t stripes = is_remote(drives, blob, shard) ? 0 : reader.stripes();
    for (std::uint64_t stripe = 0; !wrong && stripe < stripes; ++stripe) {
      const auto block = reader.raw_block(shard, stripe);
      if (block) {
        check.bytes += block->size();
      } else {
        wrong = block.error();
      }
    }
    if (wrong)
      (wrong->kind == drives::PortFault::busy ? check.unasked : check.damaged).insert(shard);
  }
  return check;
}

store::Answer<Mended> mend_blob(store::Store& store, const std::string& id,
                                const std::set<int>& damaged) {
  Mended mended;
  store.pins().pin(id);  // prevents the sweep from taking its new files
  auto blob = blob_row(store, id);
  if (!blob || !*blob) {
    store.pins().unpin(id);
    if (!blob) return std::unexpected(blob.error());
    return mended;  // the blob was removed in the meantime
  }
  store::Answer<Mended> result = mended;
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

store::Answer<bool> Scrubber::step(std::uint64_t bytes) {
  const std::uint64_t paid = std::min(owed_, bytes);
  owed_ -= paid;
  bytes -= paid;
  if (bytes == 0) return true;
  const std::string base = rows::row::blob("");
  const auto cursor = store_.metadata().cursor();
  std::uint64_t read = 0;
  for (cursor->seek(after_.empty() ? base : after_ + '\0');
       cursor->valid() && cursor->key().starts_with(base) && read < bytes; cursor->next()) {
    after_ = cursor->key();
    const auto blob = rows::decode_blob(cursor->value());
    if (!blob) continue;
    const ShardCheck check = check_shards(store_.setting().drives, *blob);
    read += check.bytes + 1;
    ++counts_.blobs;
    counts_.bytes += check.bytes;
    if (check.lost) ++counts_.lost;
    if (check.damaged.empty()) continue;
    const auto mended = mend_blob(store_, blob->id, check.damaged);
    if (!mended) return std::unexpected(mended.error());
    if (mended->shards == 0 && !mended->fault) continue;  // the object was removed in the meantime
    counts_.damaged += check.damaged.size();
    counts_.mended += static_cast<std::uint64_t>(mended->shards);
    if (mended->fault && mended->fault->kind == drives::PortFault::corrupt) ++counts_.lost;
  }
  if (auto state = cursor->state(); !state) return store::refused(state.error());
  owed_ += read - std::min(read, bytes);
  if (cursor->valid() && cursor->key().starts_with(base)) return true;
  after_.clear();
  ++counts_.rounds;
  return false;
}

}  // namespace orrery::upkeep
