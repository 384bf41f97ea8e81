#include "live/upkeep/store_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/base/text.h"
#include "live/drives/ceph_pool.h"
#include "live/drives/file_text.h"
#include "live/drives/folder_drive.h"
#include "live/drives/rados_drive.h"
#include "live/rows/postgres_metadata.h"
#include "live/rows/rocks_metadata.h"
#include "live/store/identity.h"
#include "live/store/manifest_note.h"

namespace orrery::upkeep {
namespace {

namespace fs = std::filesystem;

std::unexpected<Diagnostics> folder_fault(const std::string& file, int line,
                                          const std::string& what, const std::string& fix = {}) {
  return fail(
      {.code = "store.format", .place = {file, line, 0}, .what = what, .why = {}, .fix = fix});
}

std::optional<drives::ShardPlan> shard_plan_of(std::string_view text) {
  if (text.ends_with('x')) {
    const auto copies = parse_integer(text.substr(0, text.size() - 1));
    if (!copies || *copies < 1 || *copies > 8) return std::nullopt;
    return drives::ShardPlan{1, static_cast<int>(*copies) - 1};
  }
  const auto parts = split(text, '+');
  const auto data = parts.size() == 2 ? parse_integer(parts[0]) : std::nullopt;
  const auto parity = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  if (!data || !parity || *data < 1 || *parity < 0 || *data + *parity > drives::kShardsMax)
    return std::nullopt;
  return drives::ShardPlan{static_cast<int>(*data), static_cast<int>(*parity)};
}

std::string drive_id(const std::string& tier, std::size_t number) {
  return fmt::format("{}-{}", tier, number);
}

// Reads a line of the store's file after the first line, which gives the format.
Result<void> read_line(OpenedFolder& to, const std::string& file, int number,
                       std::string_view line) {
  const auto words = split_at_blanks(line);
  if (words.empty()) return {};
  if (words[0] == "id" && words.size() == 2) {
    to.id = words[1];
    return {};
  }
  if (words[0] == "metadata" && words.size() == 2) {
    to.database = words[1];
    return {};
  }
  if (words[0] == "tier" && words.size() == 3) {
    const auto plan = shard_plan_of(words[2]);
    if (!plan) return folder_fault(file, number, "unknown redundancy: " + std::string(words[2]));
    to.tiers.push_back({std::string(words[1]), *plan, {}});
    return {};
  }
  if (words[0] == "drive" && words.size() >= 3 && !to.tiers.empty()) {
    const auto path = line.substr(static_cast<std::size_t>(words[2].data() - line.data()));
    to.tiers.back().drives.emplace_back(words[1]);
    to.folders.emplace(words[1], trimmed(path));
    return {};
  }
  return folder_fault(file, number, "this line is not valid: " + std::string(line));
}

Result<void> read_store_file(OpenedFolder& to, const std::string& file, std::string_view text) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (number > 1) {
      if (auto good = read_line(to, file, number, line); !good) return good;
      continue;
    }
    const auto words = split_at_blanks(line);
    const auto format =
        words.size() == 2 && words[0] == "orrery-store" ? parse_integer(words[1]) : std::nullopt;
    if (!format) return folder_fault(file, 1, "this file does not describe a store");
    if (*format > kStoreFormat) {
      return folder_fault(
          file, 1,
          fmt::format("the store has format {}, but this program reads only up to {}", *format,
                      kStoreFormat),
          "open it with the version of the program that wrote it, or a later one");
    }
  }
  for (const store::Tier& tier : to.tiers) {
    if (static_cast<int>(tier.drives.size()) >= tier.plan.total()) continue;
    return folder_fault(file, 0,
                        fmt::format("tier {} has {} drives and needs {}", tier.name,
                                    tier.drives.size(), tier.plan.total()));
  }
  if (to.tiers.empty()) return folder_fault(file, 0, "the store has no tier");
  return {};
}

// Returns false if the folder holds something that is not a store.
bool is_free(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return true;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename() != "store.begun.new" && at->path().filename() != "spool")
      return false;  // left by a first run that died
  }
  return !error;
}

bool is_elsewhere(std::string_view path) {
  return drives::is_s3_place(path) || drives::is_pool_place(path);
}

Result<std::unique_ptr<drives::Drive>> open_drive(const std::string& path,
                                                  const std::string& folder,
                                                  const drives::DriveMark& mark,
                                                  const drives::S3Access& access,
                                                  drives::Marking marking, bool looks) {
  const bool make = marking != drives::Marking::refuse;
  if (drives::is_pool_place(path)) {
    const auto place = drives::pool_place_of(path);
    if (!place) return std::unexpected(place.error());
    return drives::open_rados_drive(drives::open_ceph_pool(*place), path, mark, make);
  }
  if (!drives::is_s3_place(path)) {
    return drives::open_folder_drive(fs::path(path).is_absolute() ? path : folder + '/' + path,
                                     mark, marking);
  }
  const auto place = drives::s3_place_of(path);
  if (!place) return std::unexpected(place.error());
  const std::string spool = folder + "/spool";
  std::error_code error;
  if (!looks) fs::create_directories(spool, error);
  return drives::open_s3_drive(*place, mark, access, spool, make);
}

std::unexpected<Diagnostics> in_use(const std::string& folder) {
  return fail({.code = "store.running",
               .place = {folder},
               .what = "another program uses this store",
               .why = "only one program at a time can run, check or repair a store",
               .fix = "stop that program, or give another folder"});
}

// A copy of a store's folder names the same drives, and two stores that write to them would remove
// each other's files. Gateways that share a database also share the drives.
Result<void> lock_drive(OpenedFolder& to, const std::string& path) {
  const std::string place = fs::path(path).is_absolute() ? path : to.folder + '/' + path;
  FolderLock lock;
  if (!lock.take(place, !to.database.empty())) return in_use(place);
  to.drive_locks.push_back(std::move(lock));
  return {};
}

Result<void> open_drives(OpenedFolder& to, const drives::S3Access& access, drives::Marking marking,
                         bool looks) {
  int found = 0;
  for (const auto& [id, path] : to.folders) {
    auto drive = open_drive(path, to.folder, {to.id, id}, access, marking, looks);
    // Missing keys, or a place that belongs to another store, will not go away like a drive that is
    // only unreachable.
    if (!drive && (marking == drives::Marking::make || is_elsewhere(path)))
      return std::unexpected(drive.error());
    if (!drive) {
      for (Diagnostic note : drive.error()) {
        note.severity = Severity::warning;
        to.notes.push_back(std::move(note));
      }
    }
    if (drive && !is_elsewhere(path)) {
      if (auto good = lock_drive(to, path); !good) return good;
    }
    found += drive ? 1 : 0;
    to.drives.emplace(id, drive ? std::move(*drive) : nullptr);
  }
  if (found > 0) return {};
  Diagnostics none = {{.code = "store.drive",
                       .place = {to.folder},
                       .what = "none of the store's drives is available"}};
  none.insert(none.end(), to.notes.begin(), to.notes.end());
  return std::unexpected(std::move(none));
}

// Creates the missing drives again, after everything that is there has been checked.
Result<void> replace_drives_of(OpenedFolder& to, const drives::S3Access& access) {
  std::erase_if(to.notes, [](const Diagnostic& note) { return note.code == "store.drive"; });
  for (auto& [id, drive] : to.drives) {
    if (drive) continue;
    auto made = open_drive(to.folders.at(id), to.folder, {to.id, id}, access,
                           drives::Marking::again, false);
    if (!made) return std::unexpected(made.error());
    drive = std::move(*made);
  }
  return {};
}

Result<std::unique_ptr<rows::Metadata>> open_metadata(const OpenedFolder& of,
                                                      const FolderWish& wish,
                                                      rows::RocksOpening how) {
  if (of.database.empty()) {
    if (how == rows::RocksOpening::look)
      return rows::open_rocks_metadata(of.folder + "/metadata", how);
    return rows::open_rocks_metadata(of.folder + "/metadata", how,
                                     [folder = of.folder] { (void)store::note_manifest(folder); });
  }
  return rows::open_postgres_metadata({of.database, of.id, wish.alone, how});
}

std::unexpected<Diagnostics> no_space(const OpenedFolder& of) {
  return fail({.code = "store.space",
               .place = {of.folder + "/metadata"},
               .what = "no space is left for the metadata, and its reserve is used up",
               .why = "a store that cannot write its metadata does not start; `orrery store fsck` "
                      "needs no space",
               .fix = "free a few megabytes on this disk"});
}

// Writes the id into metadata that has none: new metadata, or that of a store made before stores
// had ids.
Result<void> write_id(rows::Metadata& metadata, const OpenedFolder& of) {
  const std::string key = rows::row::fact("store");
  const auto done = metadata.commit({.expects = {{key, std::nullopt}}, .changes = {{key, of.id}}});
  const auto found = done ? metadata.get(key) : std::unexpected(done.error());
  if (found && *found == of.id) return {};
  return folder_fault(of.folder + "/metadata", 0,
                      found ? "the metadata belongs to another store"
                            : "the store's id cannot be written: " + found.error().what);
}

void watch(OpenedFolder& to, std::unique_ptr<rows::Metadata> metadata,
           const store::Witness& begun) {
  to.witnesses = std::make_shared<store::Witnesses>(to.drive_set(), begun, !metadata->is_shared());
  to.metadata = store::witnessed(std::move(metadata), *to.witnesses);
}

Result<void> make_metadata(OpenedFolder& to, const FolderWish& wish) {
  auto made = open_metadata(to, wish, rows::RocksOpening::make);
  if (!made) return std::unexpected(made.error());
  if (auto good = write_id(**made, to); !good) return good;
  watch(to, std::move(*made), {.store = to.id});
  return {};
}

// Files that have changed may belong to another store. If so, that is the reason to report.
Diagnostics reason_of(const OpenedFolder& of, const FolderWish& wish,
                      const store::Identity& identity, const Diagnostics& said) {
  const auto metadata = open_metadata(of, wish, rows::RocksOpening::look);
  if (!metadata) return said;
  const auto facts = store::facts_of(**metadata);
  if (!facts || !facts->store || *facts->store == identity.id) return said;
  const auto known = store::check_identity(identity, **metadata, of.drive_set(), {});
  return known ? said : known.error();
}

// First come all checks that only read; then the drives are notified; then the metadata is opened.
Result<void> use_metadata(OpenedFolder& to, const FolderWish& wish,
                          const std::function<Result<void>()>& checked) {
  const bool is_rocks = to.database.empty();
  const store::Identity identity{.id = to.id,
                                 .folder = to.folder,
                                 .place = is_rocks ? to.folder + "/metadata" : to.database,
                                 .is_rocks = is_rocks,
                                 .accepts_loss = wish.accepts_loss};
  if (is_rocks) {
    const auto denied = rows::missing_right(to.folder + "/metadata", !wish.looks);
    if (denied) return fail(*denied);
  }
  const auto sealed = store::check_sealed(identity, to.drive_set());
  if (!sealed) return std::unexpected(reason_of(to, wish, identity, sealed.error()));
  if (sealed->seal) to.sealed = sealed->seal->files;
  const auto& witness = sealed->witness;
  auto metadata = open_metadata(to, wish, rows::RocksOpening::look);
  if (!metadata) return std::unexpected(store::blamed(identity, sealed->seal, metadata.error()));
  auto known = store::check_identity(identity, **metadata, to.drive_set(), witness);
  if (!known) return std::unexpected(store::blamed(identity, sealed->seal, known.error()));
  to.notes.insert(to.notes.end(), known->notes.begin(), known->notes.end());
  to.behind = known->behind;
  to.run_after = std::max(known->facts.run, witness ? witness->run : 0);
  if (wish.looks) {
    to.metadata = std::move(*metadata);
    return {};
  }
  if (wish.admits) {
    if (auto good = wish.admits(**metadata); !good) return good;
  }
  metadata->reset();
  if (is_rocks && !to.reserve->has_room()) return no_space(to);
  if (auto good = checked(); !good) return good;
  const store::Witness begun{
      .store = to.id, .run = to.run_after, .commits = known->facts.commits, .stopped = false};
  // If a drive cannot be notified, removing the list still prevents a later run from trusting it.
  (void)store::Witnesses(to.drive_set(), begun, false).set_running();
  std::error_code error;
  fs::remove(store::sealed_file(to.folder), error);
  if (error)
    return folder_fault(store::sealed_file(to.folder), 0, "cannot remove: " + error.message());
  metadata = open_metadata(to, wish, rows::RocksOpening::use);
  if (!metadata) return std::unexpected(metadata.error());
  if (!known->facts.store) {
    if (auto good = write_id(**metadata, to); !good) return good;
  }
  watch(to, std::move(*metadata), begun);
  return {};
}

Result<void> check_wish(const OpenedFolder& of, const std::string& folder, const FolderWish& wish) {
  if (wish.database.empty() || wish.database == of.database) return {};
  return folder_fault(folder, 0,
                      of.database.empty() ? "the metadata of this store is in its folder"
                                          : "the metadata of this store is in " + of.database,
                      "omit --metadata; the metadata of a store cannot be moved by this option");
}

// Called before anything is written that an earlier version of the program would not understand.
Result<void> upgrade(const std::string& file, const std::string& text) {
  const std::string first = fmt::format("orrery-store {}\n", kStoreFormat);
  if (text.starts_with(first)) return {};
  if (drives::write_durably(file, first + text.substr(text.find('\n') + 1))) return {};
  return folder_fault(file, 0,
                      std::string("the store cannot be upgraded: ") + std::strerror(errno));
}

// The store's file is written last: a store that has it also has its drives and its metadata.
Result<OpenedFolder> made_folder(OpenedFolder opened, const std::string& text,
                                 const drives::S3Access& access, const FolderWish& wish) {
  const std::string file = opened.folder + "/store";
  const auto cannot = [&] {
    return folder_fault(opened.folder, 0,
                        std::string("cannot create a store here: ") + std::strerror(errno));
  };
  if (!drives::write_durably(file + ".begun", text)) return cannot();
  if (auto good = open_drives(opened, access, drives::Marking::make, false); !good)
    return std::unexpected(good.error());
  if (auto good = make_metadata(opened, wish); !good) return std::unexpected(good.error());
  if (!drives::write_durably(file, text) || !fs::remove(file + ".begun")) return cannot();
  if (opened.database.empty()) opened.reserve->tend();
  return opened;
}

std::unexpected<Diagnostics> tier_fault(const std::string& text, const std::string& why) {
  return fail({.code = "store.tier",
               .place = {},
               .what = "the tier '" + text + "' is malformed",
               .why = why,
               .fix = "write it as hot=4+2:/mnt/a,/mnt/b,... or warm=2x:/mnt/a,/mnt/b"});
}

// Checks whether a drive of this tier may be at this place.
Result<void> check_place(const std::string& tier, const std::string& path) {
  if (drives::is_pool_place(path)) {
    if (auto place = drives::pool_place_of(path); !place) return std::unexpected(place.error());
    if (tier == "gpu-direct") {
      return tier_fault(path, "the gpu-direct tier must be on drives of this machine");
    }
  }
  if (drives::is_s3_place(path)) {
    if (auto place = drives::s3_place_of(path); !place) return std::unexpected(place.error());
    if (tier != "warm" && tier != "cold") {
      return tier_fault(path, "only the warm and cold tiers may be in another object store");
    }
  }
  return {};
}

// A folder can be only one drive, however its path is written.
Result<void> check_distinct(const std::string& folder, const std::vector<TierPlan>& tiers) {
  std::vector<fs::path> seen;
  for (const TierPlan& tier : tiers) {
    for (const std::string& path : tier.folders) {
      if (is_elsewhere(path)) continue;
      std::error_code error;
      const fs::path place = fs::weakly_canonical(
          fs::path(path).is_absolute() ? fs::path(path) : fs::path(folder) / path, error);
      if (std::ranges::find(seen, place) != seen.end())
        return tier_fault(path, "this folder is given twice, but each drive needs its own");
      seen.push_back(place);
    }
  }
  return {};
}

}  // namespace

std::string store_text(const std::string& id, const std::vector<TierPlan>& tiers,
                       const std::string& database) {
  std::string text = fmt::format("orrery-store {}\nid {}\n", kStoreFormat, id);
  if (!database.empty()) text += fmt::format("metadata {}\n", database);
  for (const TierPlan& tier : tiers) {
    text += fmt::format("tier {} {}+{}\n", tier.name, tier.plan.data, tier.plan.parity);
    const std::vector<std::string> alone = {tier.name};
    const auto& folders = tier.folders.empty() ? alone : tier.folders;
    for (std::size_t i = 0; i < folders.size(); ++i) {
      text += fmt::format("drive {} {}\n", drive_id(tier.name, i), folders[i]);
    }
  }
  return text;
}

store::DriveSet OpenedFolder::drive_set() const {
  store::DriveSet set;
  for (const auto& [name, drive] : drives) set.emplace(name, drive.get());
  return set;
}

std::vector<TierPlan> usual_tiers() {
  // The first tier takes objects without a storage class.
  return {{"hot"}, {"gpu-direct"}, {"warm"}, {"cold"}};
}

Result<TierPlan> tier_plan_of(const std::string& text) {
  const auto bad = [&](const std::string& why) { return tier_fault(text, why); };
  const auto equals = text.find('=');
  if (equals == text.npos) return bad("a tier needs a name and a redundancy");
  const auto colon = std::min(text.find(':', equals), text.size());
  TierPlan tier{.name = text.substr(0, equals)};
  const auto usual = usual_tiers();
  if (std::ranges::find(usual, tier.name, &TierPlan::name) == usual.end()) {
    return bad("the tiers are gpu-direct, hot, warm and cold");
  }
  const auto plan = shard_plan_of(std::string_view(text).substr(equals + 1, colon - equals - 1));
  if (!plan) return bad("the redundancy must be K+M (data and parity) or Nx (copies)");
  tier.plan = *plan;
  if (colon < text.size()) {
    for (const std::string_view path : split(std::string_view(text).substr(colon + 1), ',')) {
      if (path.empty()) return bad("a drive's folder is empty");
      if (auto good = check_place(tier.name, std::string(path)); !good) {
        return std::unexpected(good.error());
      }
      tier.folders.emplace_back(path);
    }
  } else {
    for (int i = 0; i < plan->total(); ++i) {
      tier.folders.push_back(plan->total() == 1 ? tier.name : fmt::format("{}-{}", tier.name, i));
    }
  }
  if (static_cast<int>(tier.folders.size()) < plan->total()) {
    return bad(fmt::format("this redundancy needs {} drives, but {} are given", plan->total(),
                           tier.folders.size()));
  }
  return tier;
}

Result<OpenedFolder> open_store_folder(const std::string& folder,
                                       const std::vector<TierPlan>& tiers, const std::string& id,
                                       bool replace_drives, const drives::S3Access& access,
                                       const FolderWish& wish) {
  if (!wish.database.empty()) {
    if (auto good = rows::check_postgres_place(wish.database); !good)
      return std::unexpected(good.error());
  }
  const std::string file = folder + "/store";
  auto text = drives::read_file(file);
  std::error_code error;
  if (!text &&
      (fs::exists(fs::symlink_status(file, error)) || error == std::errc::permission_denied)) {
    return folder_fault(file, 0, "the store's file cannot be read",
                        "start the store as the user who owns its folder, and check the disk");
  }
  const bool make = !text;
  if (make && wish.looks) return folder_fault(folder, 0, "there is no store here");
  if (make) {
    // The first run may have died or been refused. Its drives may carry its id, so the id is kept;
    // the tiers are those requested now.
    const auto begun = drives::read_file(file + ".begun");
    if (!begun && fs::exists(folder + "/metadata/CURRENT")) {
      return folder_fault(file, 0, "the store's file is missing although its metadata exists",
                          "restore it; docs/guide/store-operations.md says what it contains");
    }
    if (!begun && !is_free(folder)) {
      return folder_fault(folder, 0, "this folder holds something that is not a store",
                          "give an empty folder, or one that does not exist yet");
    }
    if (auto good = check_distinct(folder, tiers); !good) return std::unexpected(good.error());
    OpenedFolder before;
    const bool known = begun && read_store_file(before, file + ".begun", *begun);
    text = store_text(known ? before.id : id, tiers, wish.database);
    fs::create_directories(folder, error);
  }
  OpenedFolder opened;
  opened.folder = folder;
  if (auto good = read_store_file(opened, file, *text); !good) return std::unexpected(good.error());
  if (auto good = check_wish(opened, folder, wish); !good) return std::unexpected(good.error());
  if (opened.database.empty() && !opened.lock.take(folder)) return in_use(folder);
  opened.reserve = std::make_shared<store::Reserve>(folder + "/metadata");
  if (make) return made_folder(std::move(opened), *text, access, wish);
  if (auto good = open_drives(opened, access, drives::Marking::refuse, wish.looks); !good)
    return std::unexpected(good.error());
  const auto checked = [&]() -> Result<void> {
    if (replace_drives) {
      if (auto good = replace_drives_of(opened, access); !good) return good;
    }
    return upgrade(file, *text);
  };
  if (auto good = use_metadata(opened, wish, checked); !good) return std::unexpected(good.error());
  if (!wish.looks && opened.database.empty()) opened.reserve->tend();
  return opened;
}

void seal_store_folder(OpenedFolder& opened) {
  if (!opened.metadata || !opened.witnesses) return;
  const bool kept = opened.metadata->flush().has_value();
  const std::uint64_t commits = opened.metadata->commits();
  const bool is_shared = opened.metadata->is_shared();
  opened.metadata.reset();
  if (!kept || is_shared) return opened.witnesses->keep();
  store::Witness last = opened.witnesses->now();
  last.commits = commits;
  last.stopped = true;
  // The list is written before the drives refer to it.
  const std::string text = store::seal_text(
      {.witness = last, .files = store::files_to_seal(opened.folder + "/metadata", opened.sealed)});
  if (drives::write_durably(store::sealed_file(opened.folder), text))
    opened.witnesses->stop(commits);
}

}  // namespace orrery::upkeep
