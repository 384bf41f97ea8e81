#include "live/store/identity.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "live/drives/file_text.h"
#include "live/store/manifest_note.h"

namespace orrery::store {
namespace {

constexpr const char* kRestore =
    "put the right metadata back; docs/guide/store-operations.md says how to restore them";

std::unexpected<Diagnostics> doubted(const Identity& of, const std::string& what,
                                     const std::string& why, const std::string& fix = kRestore) {
  return fail(
      {.code = "store.metadata", .place = {of.place}, .what = what, .why = why, .fix = fix});
}

std::string seen(const Witness& witness) {
  return fmt::format("run {} and commit {}", witness.run, witness.commits);
}

Diagnostic behind(const Identity& of, const MetadataFacts& facts, const Witness& witness) {
  return {.code = "store.metadata",
          .place = {of.place},
          .what = fmt::format("the metadata have lost their end: the drives have seen {}, the "
                              "metadata know run {} and commit {}",
                              seen(witness), facts.run, facts.commits),
          .why =
              "they are from before, or the end of their log is gone: what was acknowledged "
              "since is not in them",
          .fix =
              "put the newest metadata back; where there are none, `orrery store repair` says "
              "what is lost, and goes on without it with --apply"};
}

// The files are from before, though the newest log counts all commits: rows between are missing.
Diagnostic from_before(const Identity& of, const std::string& what) {
  return {.code = "store.metadata",
          .place = {of.place},
          .what = what,
          .why = "some of the files are from before: what was acknowledged since is not in them",
          .fix = behind(of, {}, {}).fix};
}

// The last run whose blobs are on a drive; 0: there are none.
std::uint64_t last_run_on(drives::Drive& drive) {
  std::uint64_t last = 0;
  const auto names = drive.list();
  if (!names) return 0;
  for (const std::string& name : *names) {
    if (const auto shard = shard_name_of(name)) last = std::max(last, run_of(shard->blob));
  }
  return last;
}

// Of a store from before ids: what its drives hold is all that can be compared.
Result<void> check_old(const Identity& of, const MetadataFacts& facts, const DriveSet& drives) {
  for (const auto& [name, drive] : drives) {
    const std::uint64_t run = drive ? last_run_on(*drive) : 0;
    if (run == 0) continue;
    if (run > facts.run) {
      return doubted(of,
                     fmt::format("drive {} holds objects of run {}, and the metadata know {} runs",
                                 name, run, facts.run),
                     "the metadata are empty, another store's, or from before");
    }
    if (!facts.has_blobs) {
      return doubted(of, "drive " + name + " holds objects, and the metadata know of none",
                     "the metadata are empty or another store's");
    }
  }
  return {};
}

}  // namespace

std::string sealed_file(const std::string& folder) { return folder + "/sealed"; }

Diagnostics blamed(const Identity& of, const std::optional<Seal>& seal, const Diagnostics& said) {
  if (!seal) return said;
  const auto damage = damage_since(*seal, of.folder + "/metadata", true);
  if (!damage) return said;
  return doubted(of, *damage, "the metadata are damaged; nothing was written").error();
}

Result<Sealed> check_sealed(const Identity& of, const DriveSet& drives) {
  const std::string metadata = of.folder + "/metadata";
  const auto text = of.is_rocks ? drives::read_file(sealed_file(of.folder)) : std::nullopt;
  auto seal = text ? seal_of(*text) : std::nullopt;
  if (seal && seal->witness.store != of.id) seal.reset();
  auto witness = newest_witness(drives, of.id, seal ? std::optional(seal->witness) : std::nullopt);
  if (!of.is_rocks) return Sealed{std::move(witness), std::nullopt};
  if (!std::filesystem::exists(metadata + "/CURRENT")) {
    return doubted(of, metadata + "/CURRENT is missing",
                   "the metadata of this store are not there, or not mounted, or damaged; nothing "
                   "was written");
  }
  const bool holds = seal && witness->stopped && witness->run == seal->witness.run &&
                     witness->commits == seal->witness.commits;
  if (holds) {
    if (const auto damage = damage_since(*seal, metadata)) {
      return doubted(of, *damage, "the metadata are damaged; nothing was written");
    }
  }
  if (!holds) seal.reset();
  if (const auto doubt = manifest_doubt(of.folder); doubt && !doubt->is_older) {
    return doubted(of, doubt->what, "the metadata are damaged; nothing was written");
  }
  return Sealed{std::move(witness), std::move(seal)};
}

Result<Recognised> check_identity(const Identity& of, rows::Metadata& metadata,
                                  const DriveSet& drives, const std::optional<Witness>& witness) {
  const auto facts = facts_of(metadata);
  if (!facts) return doubted(of, "the metadata cannot be read: " + facts.error().what, {});
  Recognised known{.facts = *facts, .witness = witness};
  const auto doubt = doubt_of(*facts, of.id, witness);
  if (doubt == Doubt::other_store) {
    return doubted(of,
                   "the metadata are those of store " + *facts->store + ", and this is " + of.id,
                   "they were mounted or copied to the wrong place");
  }
  if (doubt == Doubt::no_id) {
    return doubted(of,
                   "the metadata have no id of a store, and the drives have seen " +
                       seen(*witness) + " of store " + of.id,
                   "the metadata are empty, or another store's");
  }
  if (doubt == Doubt::behind) {
    Diagnostic said = behind(of, *facts, *witness);
    if (!of.accepts_loss) return fail(std::move(said));
    said.severity = Severity::warning;
    known.behind = true;
    known.notes.push_back(std::move(said));
  }
  const auto older = of.is_rocks ? manifest_doubt(of.folder) : std::nullopt;
  if (older && !known.behind) {
    Diagnostic said = from_before(of, older->what);
    if (!of.accepts_loss) return fail(std::move(said));
    said.severity = Severity::warning;
    known.behind = true;
    known.notes.push_back(std::move(said));
  }
  if (facts->store) return known;
  if (auto good = check_old(of, *facts, drives); !good) return std::unexpected(good.error());
  Diagnostic note{.code = "store.metadata", .place = {of.place}};
  note.what = "this store is from before ids: its metadata and drives get one";
  note.severity = Severity::note;
  known.notes.push_back(std::move(note));
  return known;
}

}  // namespace orrery::store
