#include "live/upkeep/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/text.h"
#include "live/rows/codec.h"
#include "live/upkeep/walk.h"

namespace orrery::upkeep {
namespace {

// A shard file as it was found.
struct Found {
  store::ShardName name;
  std::string file;
};

// Returns whether this row of a blob refers to this file of this drive.
bool names(std::string_view row, const std::string& drive, const store::ShardName& name,
           bool shared) {
  const auto blob = rows::decode_blob(row);
  const auto shard = static_cast<std::size_t>(name.shard);
  if (!blob || shard >= blob->shards.size()) return false;
  const rows::ShardPlace& place = blob->shards[shard];
  if (place.drive == drive && place.revision == name.revision) return true;
  // A row with a later revision may follow, because another gateway is rebuilding the shard.
  return shared && name.revision > place.revision;
}

// Returns whether the rows refer to this file of this drive now.
store::Answer<bool> is_referred_to(store::Store& store, const std::string& drive,
                                   const store::ShardName& name) {
  for (const std::string& key : {rows::row::blob(name.blob), rows::row::garbage(name.blob)}) {
    const auto found = store.metadata().get(key);
    if (!found) return store::refused(found.error());
    if (*found && names(**found, drive, name, store.metadata().is_shared())) return true;
  }
  return false;
}

// The runs that have rows: those that may still commit files, and those that never will.
struct Runs {
  std::uint64_t last = 0;  // the last run that began; a file of a later run means that rows are
                           // missing
  std::set<std::uint64_t> alive = {};
  std::vector<std::uint64_t> given_up = {};
};

constexpr std::string_view kGivenUp = "";  // contents of the row of a run that was given up

store::Answer<std::vector<std::pair<std::uint64_t, std::string>>> run_rows(store::Store& store) {
  std::vector<std::pair<std::uint64_t, std::string>> rows;
  const std::string from = rows::row::epoch(0).substr(0, 1);
  const auto cursor = store.metadata().cursor();
  for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
    rows.emplace_back(rows::from_big_endian(cursor->key().substr(1)), cursor->value());
  }
  if (auto state = cursor->state(); !state) return store::refused(state.error());
  return rows;
}

store::Answer<std::uint64_t> newest_run(store::Store& store) {
  const auto row = store.metadata().get(rows::row::fact("epoch"));
  if (!row) return store::refused(row.error());
  return *row ? rows::from_big_endian(**row) : 0;
}

// Runs that no gateway holds are given up before their files are examined. A later commit of such a
// run is refused, even if its gateway turns out to be alive.
store::Answer<Runs> settle_runs(store::Store& store) {
  Runs runs;
  // Read before the rows, so that a run that begins in between has a row.
  const auto newest = newest_run(store);
  if (!newest) return std::unexpected(newest.error());
  const auto rows = run_rows(store);
  if (!rows) return std::unexpected(rows.error());
  runs.last = *newest;
  for (const auto& [run, said] : *rows) {
    runs.last = std::max(runs.last, run);
    if (run == store.epoch()) continue;
    const auto held = store.metadata().is_held(run);
    if (!held) return store::refused(held.error());
    if (*held && said != kGivenUp) {
      runs.alive.insert(run);
      continue;
    }
    const auto done =
        store.metadata().commit({.expects = {{rows::row::epoch(run), said}},
                                 .changes = {{rows::row::epoch(run), std::string(kGivenUp)}}});
    if (!done) return store::refused(done.error());
    if (*done) runs.given_up.push_back(run);
  }
  runs.alive.insert(store.epoch());
  return runs;
}

}  // namespace

store::Answer<bool> has_died(store::Store& store) {
  const auto rows = run_rows(store);
  if (!rows) return std::unexpected(rows.error());
  for (const auto& [run, said] : *rows) {
    if (run == store.epoch()) continue;
    const auto held = store.metadata().is_held(run);
    if (!held) return store::refused(held.error());
    if (!*held) return true;
  }
  return false;
}

namespace {

// Returns the files of a drive whose runs are over, in the order of their blobs. Fails if there is
// a file of a run that the metadata does not know.
store::Answer<std::vector<Found>> left_behind(store::Store& store, const std::string& id,
                                              drives::Drive& drive, const Runs& runs) {
  const auto files = drive.list();
  if (!files) return store::refused(files.error());
  std::vector<Found> found;
  for (const std::string& file : *files) {
    auto name = store::shard_name_of(file);
    if (!name) continue;
    const std::uint64_t run = store::run_of(name->blob);
    if (run > runs.last) {
      const auto now = newest_run(store);
      if (!now) return std::unexpected(now.error());
      if (run <= *now) continue;  // another gateway has begun in the meantime
      return store::refused(
          "InternalError",
          fmt::format("drive {} holds file {} of run {}, but the metadata knows only {} runs; "
                      "nothing is swept",
                      id, file, run, runs.last));
    }
    if (!runs.alive.contains(run)) found.push_back({std::move(*name), file});
  }
  std::ranges::sort(found, {}, [](const Found& of) { return std::string_view(of.name.blob); });
  return found;
}

// A file that no row refers to.
struct Loose {
  std::string drive;
  Found found;
};

// Finds the files of `all` that no row refers to. Rows refer to most files, and already did when
// the cursors were made; paging through the rows finds these at a lower cost than one lookup per
// file. The remaining files are looked up in the current rows.
store::Answer<void> find_loose(store::Store& store, const std::string& id,
                               const std::vector<Found>& all, const std::function<bool()>& stop,
                               std::vector<Loose>& loose, std::set<std::uint64_t>& unsettled) {
  const auto blobs = store.metadata().cursor();
  const auto garbage = store.metadata().cursor();
  const auto named_then = [&](rows::Cursor& cursor, const std::string& key,
                              const store::ShardName& name) {
    cursor.seek(key);
    return cursor.valid() && cursor.key() == key &&
           names(cursor.value(), id, name, store.metadata().is_shared());
  };
  for (const Found& found : all) {
    if (stop()) return store::refused("ServiceUnavailable", "stopped");
    const store::ShardName& name = found.name;
    if (named_then(*blobs, rows::row::blob(name.blob), name) ||
        named_then(*garbage, rows::row::garbage(name.blob), name)) {
      continue;
    }
    if (store.pins().pinned(name.blob)) {  // someone is reading or writing it
      unsettled.insert(store::run_of(name.blob));
      continue;
    }
    const auto known = is_referred_to(store, id, name);
    if (!known) return std::unexpected(known.error());
    if (!*known) loose.push_back({id, found});
  }
  return {};
}

// Returns how many shards are needed to read a blob, from the header of one of its files; 0 if that
// cannot be read.
int shards_wanted(drives::Drive& drive, const std::string& file) {
  auto opened = drive.open(file);
  if (!opened) return 0;
  std::string header(store::kShardHeaderBytes, '\0');
  const auto got = (*opened)->read(0, header);
  if (!got || *got != header.size()) return 0;
  const auto words = split_at_blanks(header);
  if (words.size() < 5 || words[0] != "orrery-shard") return 0;
  const std::string_view plan = words[4];
  return static_cast<int>(parse_integer(plan.substr(0, plan.find('+'))).value_or(0));
}

// Returns the blobs that have no row but enough files to be read. Only a run that died before its
// commit can leave such files, so blobs of the runs just given up are left out.
store::Answer<std::set<std::string>> whole_blobs(store::Store& store, const Runs& runs,
                                                 const std::vector<Loose>& loose) {
  std::map<std::string, std::set<int>> shards;
  std::map<std::string, int> wanted;
  for (const Loose& file : loose) {
    const std::string& blob = file.found.name.blob;
    if (std::ranges::find(runs.given_up, store::run_of(blob)) != runs.given_up.end()) continue;
    const auto row = store.metadata().get(rows::row::blob(blob));
    if (!row) return store::refused(row.error());
    if (*row) continue;  // an older revision of a rebuilt shard
    shards[blob].insert(file.found.name.shard);
    if (!wanted.contains(blob) || wanted[blob] == 0)
      wanted[blob] = shards_wanted(*store.setting().drives.at(file.drive), file.found.file);
  }
  std::set<std::string> whole;
  for (const auto& [blob, found] : shards) {
    if (wanted[blob] > 0 && static_cast<int>(found.size()) >= wanted[blob]) whole.insert(blob);
  }
  return whole;
}

constexpr std::size_t kSaysMost = 100;

store::Answer<void> set_loose_aside(store::Store& store, const Runs& runs,
                                    const std::vector<Loose>& loose, Swept& swept) {
  const auto whole = whole_blobs(store, runs, loose);
  if (!whole) return std::unexpected(whole.error());
  const auto well = well_ms(store);
  if (!well) return std::unexpected(well.error());
  const auto say = [&](std::string what) {
    if (swept.says.size() < kSaysMost) swept.says.push_back(std::move(what));
  };
  for (const Loose& file : loose) {
    const std::string& name = file.found.file;
    const std::string& blob = file.found.name.blob;
    if (whole->contains(blob) && !store.setting().sweeps_whole) {
      ++swept.kept;
      say(
          fmt::format("{} on drive {} is part of a complete object of run {} that no metadata row "
                      "refers to; it is kept",
                      name, file.drive, store::run_of(blob)));
      continue;
    }
    const std::string origin = fmt::format(
        "set aside at {} ms since 1970 by run {}: no metadata row referred to these "
        "files",
        store.now_ms(), store.epoch());
    const auto done = store.setting().drives.at(file.drive)->set_aside({name, *well}, origin);
    if (done) {
      ++swept.set_aside;
    } else {
      say(name + " on drive " + file.drive + " cannot be set aside: " + done.error().what);
    }
  }
  return {};
}

}  // namespace

store::Answer<Swept> sweep_orphans(store::Store& store, const std::function<bool()>& stop) {
  Swept swept;
  const auto runs = settle_runs(store);
  if (!runs) return std::unexpected(runs.error());
  std::vector<Loose> loose;
  std::set<std::uint64_t> unsettled;
  for (const auto& [id, drive] : store.setting().drives) {
    if (!drive) continue;
    const auto found = left_behind(store, id, *drive, *runs);
    if (!found) return std::unexpected(found.error());
    swept.files += found->size();
    if (auto good = find_loose(store, id, *found, stop, loose, unsettled); !good)
      return std::unexpected(good.error());
  }
  if (auto good = set_loose_aside(store, *runs, loose, swept); !good)
    return std::unexpected(good.error());
  rows::Commit commit;
  for (const std::uint64_t run : runs->given_up) {
    if (!unsettled.contains(run)) commit.changes.push_back({rows::row::epoch(run), std::nullopt});
  }
  if (commit.changes.empty()) return swept;
  if (const auto done = store.metadata().commit(commit); !done) return store::refused(done.error());
  return swept;
}

store::Answer<Aside> tend_aside(store::Store& store, const std::function<bool()>& stop) {
  Aside aside;
  const auto well = well_ms(store);
  if (!well) return std::unexpected(well.error());
  const auto& agrees = store.setting().agrees;
  for (const auto& [id, drive] : store.setting().drives) {
    if (!drive) continue;
    const auto files = drive->aside();
    if (!files) return store::refused(files.error());
    for (const drives::AsideFile& file : *files) {
      if (stop()) return store::refused("ServiceUnavailable", "stopped");
      const auto name = store::shard_name_of(file.name);
      if (!name) continue;
      const auto named = is_referred_to(store, id, *name);
      if (!named) return std::unexpected(named.error());
      const bool ripe = file.since_ms <= *well && *well - file.since_ms >= store.setting().aside_ms;
      if (*named && drive->bring_back(file)) {
        ++aside.brought_back;
      } else if (!*named && ripe && (!agrees || agrees()) && drive->remove_aside(file)) {
        ++aside.removed;
      } else {
        ++aside.files;
      }
    }
  }
  return aside;
}

store::Answer<std::uint64_t> well_ms(store::Store& store) {
  const auto row = store.metadata().get(rows::row::fact("well"));
  if (!row) return store::refused(row.error());
  return *row ? rows::from_big_endian(**row) : 0;
}

// Not synced by itself: if a crash loses some of this time, only the wait gets longer.
store::Answer<void> add_well(store::Store& store, std::uint64_t ms) {
  const auto before = well_ms(store);
  if (!before) return std::unexpected(before.error());
  const auto done = store.metadata().commit(
      {.changes = {{rows::row::fact("well"), rows::big_endian(*before + ms)}}, .durable = false});
  if (!done) return store::refused(done.error());
  return {};
}

store::Answer<void> end_run(store::Store& store) {
  const auto done =
      store.metadata().commit({.changes = {{rows::row::epoch(store.epoch()), std::nullopt}}});
  if (!done) return store::refused(done.error());
  return {};
}

namespace {

class LifecycleWalk {
 public:
  LifecycleWalk(store::Store& store, const rows::Bucket& bucket, std::vector<LifecycleRule> rules,
                rows::TimeMs day_ms, rows::TimeMs now_ms)
      : store_(store),
        bucket_(bucket),
        rules_(std::move(rules)),
        day_ms_(day_ms),
        now_ms_(now_ms) {}

  store::Answer<void> run(const std::function<bool()>& stop, LifecycleRun& total) {
    const auto walked = walk_versions(
        store_, bucket_.name, stop, [&](const store::PageEntry& entry, const VersionPlace& place) {
          return take(entry, place, total);
        });
    if (!walked) return walked;
    return abort_uploads(total);
  }

 private:
  store::Answer<void> take(const store::PageEntry& entry, const VersionPlace& place,
                           LifecycleRun& total) {
    const Ending ending = ending_of(rules_, entry.key, place, now_ms_, day_ms_);
    if (ending == Ending::stays) return {};
    store::Removal removal{.durable = false};
    // An object that was put since the page was read is not due yet.
    removal.only = [&](const rows::Version& now_there) {
      return now_there.stamp == entry.version.stamp;
    };
    const bool for_good = ending == Ending::removed;
    if (for_good) removal.version_id = entry.version.id;
    const auto gone = store_.remove(bucket_.name, entry.key, removal);
    if (!gone && gone.error().code == "AccessDenied") return {};  // retained, or under a legal hold
    if (!gone) return std::unexpected(gone.error());
    ++(for_good ? total.removed : total.expired);
    return {};
  }

  store::Answer<void> abort_uploads(LifecycleRun& total) {
    std::vector<rows::Upload> old;
    const std::string from = rows::row::uploads(bucket_.name);
    const auto cursor = store_.metadata().cursor();
    for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
      auto upload = rows::decode_upload(cursor->value());
      if (upload && upload_ends(rules_, *upload, now_ms_, day_ms_)) {
        old.push_back(std::move(*upload));
      }
    }
    if (auto state = cursor->state(); !state) return store::refused(state.error());
    for (const rows::Upload& upload : old) {
      if (store_.abort_upload(bucket_.name, upload.key, upload.id)) ++total.aborted;
    }
    return {};
  }

  store::Store& store_;
  const rows::Bucket& bucket_;
  std::vector<LifecycleRule> rules_;
  rows::TimeMs day_ms_;
  rows::TimeMs now_ms_;
};

}  // namespace

store::Answer<LifecycleRun> run_lifecycle(store::Store& store, rows::TimeMs day_ms,
                                          const std::function<bool()>& stop,
                                          std::optional<rows::TimeMs> now) {
  LifecycleRun total;
  const rows::TimeMs now_ms = now.value_or(store.now_ms());
  const auto buckets = store.buckets("");
  if (!buckets) return std::unexpected(buckets.error());
  for (const rows::Bucket& bucket : *buckets) {
    const std::string_view text = net::header_of(bucket.documents, "lifecycle");
    if (text.empty()) continue;
    auto lifecycle = lifecycle_of(text);
    if (!lifecycle) continue;
    LifecycleWalk walk(store, bucket, std::move(lifecycle->rules), day_ms, now_ms);
    const auto good = walk.run(stop, total);
    if (!good && good.error().code != "NoSuchBucket") return std::unexpected(good.error());
  }
  if (total.expired + total.removed == 0) return total;
  if (auto kept = store.metadata().flush(); !kept) return store::refused(kept.error());
  return total;
}

}  // namespace orrery::upkeep
