#include "live/store/identity.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "live/drives/file_text.h"
#include "live/store/manifest_note.h"

namespace orrery::store {
namespace {

constexpr const char* kRestore =
    "restore the right metadata; docs/guide/store-operations.md says how";

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
          .what = fmt::format("the newest part of the metadata is missing: the drives have "
                              "recorded {}, but the metadata ends at run {} and commit {}",
                              seen(witness), facts.run, facts.commits),
          .why =
              "the metadata is an older copy, or the end of its log is lost; changes acknowledged "
              "since then are missing",
          .fix =
              "restore the newest metadata; if there is none, `orrery store repair` lists what is "
              "lost, and with --apply continues without it"};
}

// The files are older copies although the newest log counts all commits, so rows in between are
// missing.
Diagnostic from_before(const Identity& of, const std::string& what) {
  return {.code = "store.metadata",
          .place = {of.place},
          .what = what,
          .why = "some of the files are older copies; changes acknowledged since then are missing",
          .fix = behind(of, {}, {}).fix};
}

// Returns the last run whose blobs are on a drive; 0 if there are none.
std::uint64_t last_run_on(drives::Drive& drive) {
  std::uint64_t last = 0;
  const auto names = drive.list();
  if (!names) return 0;
  for (const std::string& name : *names) {
    if (const auto shard = shard_name_of(name)) last = std::max(last, run_of(shard->blob));
  }
  return last;
}

// A store made before stores had ids can be recognised only by what its drives hold.
Result<void> check_old(const Identity& of, const MetadataFacts& facts, const DriveSet& drives) {
  for (const auto& [name, drive] : drives) {
    const std::uint64_t run = drive ? last_run_on(*drive) : 0;
    if (run == 0) continue;
    if (run > facts.run) {
      return doubted(of,
                     fmt::format("drive {} holds objects of run {}, but the metadata knows only {} "
                                 "runs",
                                 name, run, facts.run),
                     "the metadata is empty, belongs to another store, or is an older copy");
    }
    if (!facts.has_blobs) {
      return doubted(of, "drive " + name + " holds objects, but the metadata has none",
                     "the metadata is empty or belongs to another store");
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
  return doubted(of, *damage, "the metadata is damaged; nothing was written").error();
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
                   "the metadata of this store is missing, not mounted or damaged; nothing was "
                   "written");
  }
  const bool holds = seal && witness->stopped && witness->run == seal->witness.run &&
                     witness->commits == seal->witness.commits;
  if (holds) {
    if (const auto damage = damage_since(*seal, metadata)) {
      return doubted(of, *damage, "the metadata is damaged; nothing was written");
    }
  }
  if (!holds) seal.reset();
  if (const auto doubt = manifest_doubt(of.folder); doubt && !doubt->is_older) {
    return doubted(of, doubt->what, "the metadata is damaged; nothing was written");
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
    return doubted(
        of, "the metadata belongs to store " + *facts->store + ", but this is store " + of.id,
        "it was mounted at or copied to the wrong place");
  }
  if (doubt == Doubt::no_id) {
    return doubted(of,
                   "the metadata has no store id, but the drives have recorded " + seen(*witness) +
                       " of store " + of.id,
                   "the metadata is empty or belongs to another store");
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
  note.what = "this store was made before stores had ids; its metadata and drives now get one";
  note.severity = Severity::note;
  known.notes.push_back(std::move(note));
  return known;
}

}  // namespace orrery::store
