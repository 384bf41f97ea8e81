#include "live/store/sweep.h"

#include <algorithm>
#include <set>

#include "live/store/codec.h"
#include "live/store/walk.h"

namespace orrery::store {
namespace {

// A shard file as it was found.
struct Found {
  ShardName name;
  std::string file;
};

// Whether this row of a blob names this file of this drive.
bool names(std::string_view row, const std::string& drive, const ShardName& name, bool shared) {
  const auto blob = decode_blob(row);
  const auto shard = static_cast<std::size_t>(name.shard);
  if (!blob || shard >= blob->shards.size()) return false;
  const ShardPlace& place = blob->shards[shard];
  if (place.drive == drive && place.revision == name.revision) return true;
  // A later one may be on its way: another gateway mends the blob.
  return shared && name.revision > place.revision;
}

// Whether the rows name this file of this drive now.
Answer<bool> is_referred_to(Store& store, const std::string& drive, const ShardName& name) {
  for (const std::string& key : {row::blob(name.blob), row::garbage(name.blob)}) {
    const auto found = store.metadata().get(key);
    if (!found) return refused(found.error());
    if (*found && names(**found, drive, name, store.metadata().is_shared())) return true;
  }
  return false;
}

// The rows of runs: those that may still bring files to a commit, and those that never will.
struct Runs {
  std::uint64_t last = 0;  // files of later ones are not looked at
  std::set<std::uint64_t> alive = {};
  std::vector<std::uint64_t> given_up = {};
};

constexpr std::string_view kGivenUp = "";  // what the row of a run says then

Answer<std::vector<std::pair<std::uint64_t, std::string>>> run_rows(Store& store) {
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  const std::string from = row::epoch(0).substr(0, 1);
  const auto cursor = store.metadata().cursor();
  for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
    rows.emplace_back(from_big_endian(cursor->key().substr(1)), cursor->value());
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  return rows;
}

// Runs that nobody holds are given up before their files are looked at: a commit of theirs that
// comes later is refused, however alive they are.
Answer<Runs> settle_runs(Store& store) {
  Runs runs;
  const auto rows = run_rows(store);
  if (!rows) return std::unexpected(rows.error());
  for (const auto& [run, said] : *rows) {
    runs.last = std::max(runs.last, run);
    if (run == store.epoch()) continue;
    const auto held = store.metadata().is_held(run);
    if (!held) return refused(held.error());
    if (*held && said != kGivenUp) {
      runs.alive.insert(run);
      continue;
    }
    const auto done =
        store.metadata().commit({.expects = {{row::epoch(run), said}},
                                 .changes = {{row::epoch(run), std::string(kGivenUp)}}});
    if (!done) return refused(done.error());
    if (*done) runs.given_up.push_back(run);
  }
  runs.alive.insert(store.epoch());
  return runs;
}

}  // namespace

Answer<bool> has_died(Store& store) {
  const auto rows = run_rows(store);
  if (!rows) return std::unexpected(rows.error());
  for (const auto& [run, said] : *rows) {
    if (run == store.epoch()) continue;
    const auto held = store.metadata().is_held(run);
    if (!held) return refused(held.error());
    if (!*held) return true;
  }
  return false;
}

namespace {

// The files of a drive whose runs are over, in the order of their blobs.
Answer<std::vector<Found>> left_behind(Drive& drive, const Runs& runs) {
  const auto files = drive.list();
  if (!files) return refused(files.error());
  std::vector<Found> found;
  for (const std::string& file : *files) {
    auto name = shard_name_of(file);
    if (!name) continue;
    const std::uint64_t run = run_of(name->blob);
    if (run <= runs.last && !runs.alive.contains(run)) found.push_back({std::move(*name), file});
  }
  std::ranges::sort(found, {}, [](const Found& of) { return std::string_view(of.name.blob); });
  return found;
}

// Most files are named, and were when the cursors were made: pages of rows tell that for less than
// a look at each. The others are asked for as the rows are now.
Answer<void> sweep_drive(Store& store, const std::string& id, Drive& drive,
                         const std::vector<Found>& found, const std::function<bool()>& stop,
                         Swept& swept) {
  const auto blobs = store.metadata().cursor();
  const auto garbage = store.metadata().cursor();
  const auto named_then = [&](Cursor& cursor, const std::string& key, const ShardName& name) {
    cursor.seek(key);
    return cursor.valid() && cursor.key() == key &&
           names(cursor.value(), id, name, store.metadata().is_shared());
  };
  for (const auto& [name, file] : found) {
    if (stop()) return refused("ServiceUnavailable", "stopped");
    ++swept.files;
    if (named_then(*blobs, row::blob(name.blob), name) ||
        named_then(*garbage, row::garbage(name.blob), name) || store.pins().pinned(name.blob)) {
      continue;
    }
    const auto known = is_referred_to(store, id, name);
    if (!known) return std::unexpected(known.error());
    if (!*known && drive.remove(file)) ++swept.removed;
  }
  return {};
}

}  // namespace

Answer<Swept> sweep_orphans(Store& store, const std::function<bool()>& stop) {
  Swept swept;
  const auto runs = settle_runs(store);
  if (!runs) return std::unexpected(runs.error());
  for (const auto& [id, drive] : store.setting().drives) {
    if (!drive) continue;
    const auto found = left_behind(*drive, *runs);
    if (!found) return std::unexpected(found.error());
    if (auto good = sweep_drive(store, id, *drive, *found, stop, swept); !good) {
      return std::unexpected(good.error());
    }
  }
  Commit commit;
  for (const std::uint64_t run : runs->given_up) {
    commit.changes.push_back({row::epoch(run), std::nullopt});
  }
  if (commit.changes.empty()) return swept;
  if (const auto done = store.metadata().commit(commit); !done) return refused(done.error());
  return swept;
}

Answer<void> end_run(Store& store) {
  const auto done =
      store.metadata().commit({.changes = {{row::epoch(store.epoch()), std::nullopt}}});
  if (!done) return refused(done.error());
  return {};
}

namespace {

class LifecycleWalk {
 public:
  LifecycleWalk(Store& store, const Bucket& bucket, std::vector<LifecycleRule> rules, TimeMs day_ms)
      : store_(store), bucket_(bucket), rules_(std::move(rules)), day_ms_(day_ms) {}

  Answer<void> run(const std::function<bool()>& stop, LifecycleRun& total) {
    const auto walked = walk_versions(store_, bucket_.name, stop,
                                      [&](const PageEntry& entry, const VersionPlace& place) {
                                        return take(entry, place, total);
                                      });
    if (!walked) return walked;
    return abort_uploads(total);
  }

 private:
  Answer<void> take(const PageEntry& entry, const VersionPlace& place, LifecycleRun& total) {
    const TimeMs now = store_.now_ms();
    const Ending ending = ending_of(rules_, entry.key, place, now, day_ms_);
    if (ending == Ending::stays) return {};
    Removal removal{.durable = false};
    // What was put since the page was read has not come of age.
    removal.only = [&](const Version& now_there) { return now_there.stamp == entry.version.stamp; };
    const bool for_good = ending == Ending::removed;
    if (for_good) removal.version_id = entry.version.id;
    const auto gone = store_.remove(bucket_.name, entry.key, removal);
    if (!gone && gone.error().code == "AccessDenied") return {};  // retained, or under legal hold
    if (!gone) return std::unexpected(gone.error());
    ++(for_good ? total.removed : total.expired);
    return {};
  }

  Answer<void> abort_uploads(LifecycleRun& total) {
    std::vector<Upload> old;
    const std::string from = row::uploads(bucket_.name);
    const auto cursor = store_.metadata().cursor();
    for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
      auto upload = decode_upload(cursor->value());
      if (upload && upload_ends(rules_, *upload, store_.now_ms(), day_ms_)) {
        old.push_back(std::move(*upload));
      }
    }
    if (auto state = cursor->state(); !state) return refused(state.error());
    for (const Upload& upload : old) {
      if (store_.abort_upload(bucket_.name, upload.key, upload.id)) ++total.aborted;
    }
    return {};
  }

  Store& store_;
  const Bucket& bucket_;
  std::vector<LifecycleRule> rules_;
  TimeMs day_ms_;
};

}  // namespace

Answer<LifecycleRun> run_lifecycle(Store& store, TimeMs day_ms, const std::function<bool()>& stop) {
  LifecycleRun total;
  const auto buckets = store.buckets("");
  if (!buckets) return std::unexpected(buckets.error());
  for (const Bucket& bucket : *buckets) {
    const std::string_view text = net::header_of(bucket.documents, "lifecycle");
    if (text.empty()) continue;
    auto lifecycle = lifecycle_of(text);
    if (!lifecycle) continue;
    LifecycleWalk walk(store, bucket, std::move(lifecycle->rules), day_ms);
    const auto good = walk.run(stop, total);
    if (!good && good.error().code != "NoSuchBucket") return std::unexpected(good.error());
  }
  if (total.expired + total.removed == 0) return total;
  if (auto kept = store.metadata().flush(); !kept) return refused(kept.error());
  return total;
}

}  // namespace orrery::store
