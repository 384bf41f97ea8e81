#include "live/store/witness.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "core/base/text.h"
#include "live/drives/erasure.h"
#include "live/rows/codec.h"
#include "live/rows/records.h"

namespace orrery::store {
namespace {

// Number of drives whose note is written at each commit; the others are updated a little later.
constexpr std::size_t kNotedDrives = 1;

std::string lines_of(const Witness& witness) {
  return fmt::format("orrery-seen 1\nstore {}\nrun {}\ncommits {}\nstate {}\n", witness.store,
                     witness.run, witness.commits, witness.stopped ? "stopped" : "running");
}

std::optional<std::uint64_t> number_on(std::string_view line, std::string_view name) {
  const auto words = split_at_blanks(line);
  if (words.size() != 2 || words[0] != name) return std::nullopt;
  const auto value = parse_integer(words[1]);
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

class WitnessedMetadata final : public rows::Metadata {
 public:
  WitnessedMetadata(std::unique_ptr<rows::Metadata> of, Witnesses& witnesses)
      : of_(std::move(of)), witnesses_(witnesses) {}

  drives::Outcome<std::optional<std::string>> get(std::string_view key) override {
    return of_->get(key);
  }
  drives::Outcome<bool> commit(const rows::Commit& commit) override {
    auto done = of_->commit(commit);
    if (done && *done && commit.durable) witnesses_.note(of_->commits());
    return done;
  }
  drives::Outcome<void> flush() override {
    auto done = of_->flush();
    if (done) witnesses_.note(of_->commits());
    return done;
  }
  std::unique_ptr<rows::Cursor> cursor() override { return of_->cursor(); }
  drives::Outcome<void> forget_before(std::string_view prefix) override {
    return of_->forget_before(prefix);
  }
  std::uint64_t commits() const override { return of_->commits(); }
  drives::Outcome<void> check_files() override { return of_->check_files(); }
  bool is_shared() const override { return of_->is_shared(); }
  drives::Outcome<bool> hold_run(std::uint64_t run) override { return of_->hold_run(run); }
  drives::Outcome<bool> is_held(std::uint64_t run) override { return of_->is_held(run); }
  drives::Outcome<bool> leads() override { return of_->leads(); }

 private:
  std::unique_ptr<rows::Metadata> of_;
  Witnesses& witnesses_;
};

}  // namespace

std::string witness_text(const Witness& witness) {
  const std::string lines = lines_of(witness);
  return lines + fmt::format("check {:08x}\n", drives::block_crc(lines, 0xffffffffu));
}

std::optional<Witness> witness_of(std::string_view text) {
  const auto lines = split(text, '\n');
  if (lines.size() < 6 || !lines[1].starts_with("store ")) return std::nullopt;
  const auto run = number_on(lines[2], "run");
  const auto commits = number_on(lines[3], "commits");
  if (!run || !commits) return std::nullopt;
  const Witness found{.store = std::string(lines[1].substr(6)),
                      .run = *run,
                      .commits = *commits,
                      .stopped = lines[4] == "state stopped"};
  // Anything after the last line is the padding of a drive.
  if (!text.starts_with(witness_text(found))) return std::nullopt;
  return found;
}

bool is_newer(const Witness& one, const Witness& other) {
  return std::tuple(one.run, one.commits, !one.stopped) >
         std::tuple(other.run, other.commits, !other.stopped);
}

std::optional<Witness> newest_witness(const DriveSet& drives, const std::string& store,
                                      const std::optional<Witness>& besides) {
  std::optional<Witness> newest = besides;
  for (const auto& [name, drive] : drives) {
    if (!drive) continue;
    const auto note = drive->note();
    const auto found = note ? witness_of(*note) : std::nullopt;
    if (!found || found->store != store) continue;
    if (!newest || is_newer(*found, *newest)) newest = found;
  }
  return newest;
}

drives::Outcome<MetadataFacts> facts_of(rows::Metadata& metadata) {
  MetadataFacts facts;
  const auto id = metadata.get(rows::row::fact("store"));
  if (!id) return std::unexpected(id.error());
  facts.store = *id;
  const auto run = metadata.get(rows::row::fact("epoch"));
  if (!run) return std::unexpected(run.error());
  facts.run = *run ? rows::from_big_endian(**run) : 0;
  facts.commits = metadata.commits();
  if (metadata.is_shared()) {
    const auto counted = metadata.get(rows::row::fact("beat"));
    if (!counted) return std::unexpected(counted.error());
    facts.commits = *counted ? rows::from_big_endian(**counted) : 0;
  }
  const auto cursor = metadata.cursor();
  for (const std::string& base : {rows::row::blob(""), rows::row::garbage("")}) {
    cursor->seek(base);
    facts.has_blobs = facts.has_blobs || (cursor->valid() && cursor->key().starts_with(base));
  }
  if (auto state = cursor->state(); !state) return std::unexpected(state.error());
  return facts;
}

std::optional<Doubt> doubt_of(const MetadataFacts& facts, const std::string& store,
                              const std::optional<Witness>& witness) {
  if (facts.store && *facts.store != store) return Doubt::other_store;
  if (!witness) return std::nullopt;
  // The drives have recorded the store with an id, so this metadata is an older copy or belongs to
  // another store.
  if (!facts.store) return Doubt::no_id;
  if (witness->commits > facts.commits || witness->run > facts.run) return Doubt::behind;
  return std::nullopt;
}

Witnesses::Witnesses(DriveSet drives, Witness now, bool each_commit)
    : drives_(std::move(drives)),
      each_commit_(each_commit),
      commits_(now.commits),
      now_(std::move(now)) {}

drives::Outcome<void> Witnesses::write_all() {
  now_.commits = std::max(now_.commits, commits_.load());
  const std::string text = witness_text(now_);
  drives::Outcome<void> told = drives::fault(drives::PortFault::failed, "no drive is available");
  bool any = false;
  for (const auto& [name, drive] : drives_) {
    if (!drive) continue;
    auto done = drive->set_note(text, true);
    any = any || done.has_value();
    if (!done) told = std::move(done);
  }
  if (!any) return told;
  kept_ = now_.commits;
  return {};
}

drives::Outcome<void> Witnesses::set_running() {
  const std::scoped_lock lock(mutex_);
  now_.stopped = false;
  return write_all();
}

drives::Outcome<void> Witnesses::begin(std::uint64_t run) {
  const std::scoped_lock lock(mutex_);
  now_.run = std::max(now_.run, run);
  return write_all();
}

// One thread writes for all threads that arrive in the meantime: it checks for new commits before
// it ends.
void Witnesses::note(std::uint64_t commits) {
  std::uint64_t before = commits_;
  while (before < commits && !commits_.compare_exchange_weak(before, commits)) {
  }
  if (!each_commit_) return;
  std::uint64_t written = 0;
  while (written < commits_ && !noting_.exchange(true)) {
    written = commits_;
    Witness told;
    {
      const std::scoped_lock lock(mutex_);
      told = now_;
    }
    told.commits = std::max(told.commits, written);
    const std::string text = witness_text(told);
    std::size_t noted = 0;
    for (const auto& [name, drive] : drives_) {
      if (!drive || drive->is_remote()) continue;
      if (noted < kNotedDrives && drive->set_note(text, false)) ++noted;
    }
    noting_ = false;
  }
}

void Witnesses::keep() {
  const std::scoped_lock lock(mutex_);
  if (commits_ > kept_) (void)write_all();
}

Witness Witnesses::stop(std::uint64_t commits) {
  const std::scoped_lock lock(mutex_);
  now_.commits = std::max(now_.commits, commits);
  now_.stopped = true;
  (void)write_all();
  return now_;
}

Witness Witnesses::now() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

bool Witnesses::agrees(const MetadataFacts& facts) const {
  const Witness told = now();
  return !doubt_of(facts, told.store, newest_witness(drives_, told.store, told));
}

std::unique_ptr<rows::Metadata> witnessed(std::unique_ptr<rows::Metadata> metadata,
                                          Witnesses& witnesses) {
  return std::make_unique<WitnessedMetadata>(std::move(metadata), witnesses);
}

}  // namespace orrery::store
