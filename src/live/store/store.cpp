#include "live/store/store.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/digest.h"
#include "live/rows/codec.h"

namespace orrery::store {
namespace {

const std::string kEpochRow = rows::row::fact("epoch");
constexpr int kRunLooks = 1000;  // each gateway that starts takes a number by a commit, so starting
                                 // ones compete

std::string read_key(const std::string& bucket, const std::string& key,
                     const std::string& version) {
  return bucket + '/' + key + '@' + version;
}

bool is_changed(const Refused& refusal) { return refusal.code == kRowChanged; }

}  // namespace

void BlobPins::pin(const std::string& blob) {
  const std::scoped_lock lock(mutex_);
  ++counts_[blob];
}

void BlobPins::unpin(const std::string& blob) {
  const std::scoped_lock lock(mutex_);
  const auto at = counts_.find(blob);
  if (at != counts_.end() && --at->second == 0) counts_.erase(at);
}

bool BlobPins::pinned(const std::string& blob) const {
  const std::scoped_lock lock(mutex_);
  return counts_.contains(blob);
}

void ReadTimes::note(const std::string& bucket, const std::string& key, const std::string& version,
                     rows::TimeMs now) {
  const std::scoped_lock lock(mutex_);
  if (times_.size() >= kMost) times_.clear();  // the times are only hints
  times_[read_key(bucket, key, version)] = now;
}

rows::TimeMs ReadTimes::last(const std::string& bucket, const std::string& key,
                             const std::string& version) const {
  const std::scoped_lock lock(mutex_);
  const auto at = times_.find(read_key(bucket, key, version));
  return at == times_.end() ? 0 : at->second;
}

ObjectReader::ObjectReader(const StoreSetting& setting, BlobPins& pins,
                           const std::vector<rows::Extent>& extents, std::vector<rows::Blob> blobs)
    : pins_(pins) {
  std::uint64_t begin = 0;
  std::size_t at = 0;
  for (const rows::Extent& extent : extents) {
    const std::uint64_t end = begin + extent.size;
    if (!extent.blob.empty()) {
      pieces_.push_back({begin, end,
                         std::make_unique<BlobReader>(setting.drives, std::move(blobs[at++]),
                                                      setting.keys, setting.hedger)});
    }
    begin = end;
  }
}

ObjectReader::~ObjectReader() {
  for (const Piece& piece : pieces_) pins_.unpin(piece.reader->blob().id);
}

drives::Outcome<std::size_t> ObjectReader::read(std::uint64_t offset, std::span<char> into) {
  std::size_t got = 0;
  const auto after = [](std::uint64_t at, const Piece& piece) { return at < piece.end; };
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), offset, after);
  for (; piece != pieces_.end() && got < into.size(); ++piece) {
    const auto some = piece->reader->read(offset + got - piece->begin, into.subspan(got));
    if (!some) return some;
    got += *some;
    if (offset + got < piece->end) break;
  }
  return got;
}

std::vector<std::string> ObjectReader::damaged() const {
  std::vector<std::string> ids;
  for (const Piece& piece : pieces_) {
    if (!piece.reader->damaged().empty()) ids.push_back(piece.reader->blob().id);
  }
  return ids;
}

bool ObjectReader::is_held() const {
  return std::ranges::all_of(pieces_,
                             [](const Piece& piece) { return !piece.reader->blob().held.empty(); });
}

Answer<void> check_condition(const WriteCondition& condition,
                             const std::optional<rows::Version>& head) {
  const bool there = head && !head->marker;
  const auto names = [&](const std::string& wanted) {
    return there && (wanted == "*" || wanted == head->etag || wanted == '"' + head->etag + '"');
  };
  if (!condition.if_match.empty() && !names(condition.if_match)) {
    return refused(there ? "PreconditionFailed" : "NoSuchKey");
  }
  if (!condition.if_none_match.empty() && names(condition.if_none_match)) {
    return refused("PreconditionFailed");
  }
  return {};
}

Answer<void> check_unlocked(const rows::Version& version, rows::TimeMs now,
                            bool bypass_governance) {
  if (version.legal_hold) return refused("AccessDenied", "The version is under legal hold.");
  if (version.retention.mode.empty() || version.retention.until_ms <= now) return {};
  if (version.retention.mode == "GOVERNANCE" && bypass_governance) return {};
  return refused("AccessDenied", "The version is protected by its retention period.");
}

Store::Store(StoreSetting setting) : setting_(std::move(setting)) {
  std::string drawn = setting_.random_bytes(4);
  drawn.resize(8, '\0');
  first_blob_ = rows::from_big_endian(drawn);
}

Answer<void> Store::open() {
  for (int look = 0; look < kRunLooks; ++look) {
    const auto last = setting_.metadata.get(kEpochRow);
    if (!last) return refused(last.error());
    const std::uint64_t fresh =
        std::max(*last ? rows::from_big_endian(**last) : 0, setting_.run_after) + 1;
    // The run is held before its row is written: a run that has a row but is not held has died.
    const auto held = setting_.metadata.hold_run(fresh);
    if (!held) return refused(held.error());
    if (!*held) continue;
    const auto done =
        setting_.metadata.commit({.expects = {{kEpochRow, *last}},
                                  .changes = {{kEpochRow, rows::big_endian(fresh)},
                                              {rows::row::epoch(fresh), rows::big_endian(fresh)}}});
    if (!done) return refused(done.error());
    if (!*done) continue;
    epoch_ = fresh;
    return {};
  }
  return refused("ServiceUnavailable",
                 "Other gateways are starting at the same time; please try again.");
}

Answer<void> Store::renew() {
  const std::uint64_t run = epoch_;
  // If the run cannot be held, the database has not noticed yet that our previous connection was
  // lost.
  if (const auto held = setting_.metadata.hold_run(run); !held) return refused(held.error());
  const auto row = setting_.metadata.get(rows::row::epoch(run));
  if (!row) return refused(row.error());
  if (*row == rows::big_endian(run)) return {};
  return open();
}

std::uint64_t Store::fresh_revision(std::uint64_t last) const {
  return setting_.metadata.is_shared() ? std::max(last + 1, epoch_ << 16) : last + 1;
}

void Store::fence_run(rows::Commit& commit, std::uint64_t run) const {
  if (!setting_.metadata.is_shared()) return;
  commit.expects.push_back({rows::row::epoch(run), rows::big_endian(run)});
}

void Store::fence(rows::Commit& commit, const std::vector<rows::Blob>& fresh) const {
  std::set<std::uint64_t> runs;
  for (const rows::Blob& blob : fresh) runs.insert(run_of(blob.id));
  for (const std::uint64_t run : runs) fence_run(commit, run);
}

// If a commit failed because its run was given up, repeating it can never succeed.
Answer<void> Store::check_running(const std::vector<rows::Blob>& fresh) {
  rows::Commit fenced;
  fence(fenced, fresh);
  for (const rows::RowChange& expected : fenced.expects) {
    const auto row = setting_.metadata.get(expected.key);
    if (!row) return refused(row.error());
    if (*row != expected.value) {
      return refused("ServiceUnavailable", "The gateway lost its registration; please try again.");
    }
  }
  return {};
}

Answer<void> Store::check_room() const {
  if (!setting_.is_tight || !setting_.is_tight()) return {};
  return refused("InsufficientStorage",
                 "The disk that holds the metadata is full; objects can still be deleted.");
}

std::string Store::fresh_id() { return to_hex(setting_.random_bytes(16)); }

// Greater than every earlier stamp, even if the clock is set back.
std::uint64_t Store::fresh_stamp() {
  const auto now = static_cast<std::uint64_t>(setting_.now_ms()) * 1'000'000;
  std::uint64_t last = last_stamp_;
  while (!last_stamp_.compare_exchange_weak(last, std::max(now, last + 1))) {
  }
  return std::max(now, last + 1);
}

bool Store::has_tier(std::string_view storage_class) const {
  return std::ranges::find(setting_.tiers, storage_class, &Tier::name) != setting_.tiers.end();
}

BlobWriter Store::writer(std::string_view storage_class, std::uint64_t expected) {
  const auto at = std::ranges::find(setting_.tiers, storage_class, &Tier::name);
  const Tier& tier = at == setting_.tiers.end() ? setting_.tiers.front() : *at;
  const std::uint64_t number = ++blobs_made_;
  BlobWriter made(setting_.drives, tier,
                  fmt::format("{:08x}{:016x}", epoch_.load(), first_blob_ + number), number,
                  setting_.keys);
  made.expect(expected);
  return made;
}

void Store::forget(const rows::Blob& blob) {
  for (std::size_t i = 0; i < blob.shards.size(); ++i) {
    const auto drive = setting_.drives.find(blob.shards[i].drive);
    if (drive == setting_.drives.end() || !drive->second) continue;
    // What cannot be removed now is swept by the next run.
    (void)drive->second->remove(shard_name(blob.id, static_cast<int>(i), blob.shards[i].revision));
  }
}

Answer<std::vector<rows::Blob>> Store::blobs_of(const std::vector<rows::Extent>& extents,
                                                bool pass_over) {
  std::vector<rows::Blob> blobs;
  for (const rows::Extent& extent : extents) {
    if (extent.blob.empty()) continue;
    const auto found = setting_.metadata.get(rows::row::blob(extent.blob));
    if (!found) return refused(found.error());
    if (!*found && pass_over) continue;
    if (!*found) return refused(std::string(kRowChanged));
    auto blob = rows::decode_blob(**found);
    if (!blob) return refused("InternalError", "the row of blob " + extent.blob + " is unreadable");
    blobs.push_back(std::move(*blob));
  }
  return blobs;
}

Answer<Store::Viewed> Store::view(std::string_view name, std::string_view key) {
  Viewed viewed;
  KeyView& view = viewed.view;
  view.bucket = name;
  view.key = key;
  view.bucket_row.key = rows::row::bucket(name);
  view.head_row.key = rows::row::object(name, key);
  const auto bucket_row = setting_.metadata.get(view.bucket_row.key);
  if (!bucket_row) return refused(bucket_row.error());
  auto bucket = *bucket_row ? rows::decode_bucket(**bucket_row) : std::nullopt;
  if (!bucket) return refused("NoSuchBucket");
  viewed.bucket = std::move(*bucket);
  view.bucket_row.value = *bucket_row;
  auto head = setting_.metadata.get(view.head_row.key);
  if (!head) return refused(head.error());
  view.head_row.value = std::move(*head);
  if (!view.head_row.value) return viewed;
  view.head = rows::decode_version(*view.head_row.value);
  if (!view.head) return refused("InternalError", "the row of a version is unreadable");
  return viewed;
}

Answer<void> Store::fill_next(KeyView& view) {
  const std::string from = rows::row::versions(view.bucket, view.key);
  const auto cursor = setting_.metadata.cursor();
  cursor->seek(from);
  if (auto state = cursor->state(); !state) return refused(state.error());
  view.next.reset();
  if (!cursor->valid() || !cursor->key().starts_with(from)) return {};
  auto version = rows::decode_version(cursor->value());
  if (!version) return refused("InternalError", "the row of a version is unreadable");
  view.next =
      ReadVersion{std::move(*version), {std::string(cursor->key()), std::string(cursor->value())}};
  return {};
}

Answer<void> Store::fill_null(KeyView& view) {
  auto found = old_version(view, "null");
  if (!found) return std::unexpected(found.error());
  view.null_version = std::move(*found);
  return {};
}

Answer<std::optional<ReadVersion>> Store::old_version(const KeyView& view, std::string_view id) {
  const std::string from = rows::row::versions(view.bucket, view.key);
  const auto cursor = setting_.metadata.cursor();
  for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
    auto version = rows::decode_version(cursor->value());
    if (!version || version->id != id) continue;
    return ReadVersion{std::move(*version),
                       {std::string(cursor->key()), std::string(cursor->value())}};
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  return std::nullopt;
}

Answer<rows::Version> Store::find(std::string_view bucket, std::string_view key,
                                  const std::optional<std::string>& version_id) {
  auto viewed = view(bucket, key);
  if (!viewed) return std::unexpected(viewed.error());
  const auto& head = viewed->view.head;
  if (!version_id) {
    if (!head) return refused("NoSuchKey");
    return *head;
  }
  if (head && head->id == *version_id) return *head;
  auto old = old_version(viewed->view, *version_id);
  if (!old) return std::unexpected(old.error());
  if (!*old) return refused("NoSuchVersion");
  return std::move((*old)->version);
}

Answer<OpenedObject> Store::open_object(
    std::string_view bucket, std::string_view key, const std::optional<std::string>& version_id,
    const std::function<Answer<void>(const rows::Version&)>& accept) {
  for (int look = 0; look < kLooks; ++look) {
    auto version = find(bucket, key, version_id);
    if (!version) return std::unexpected(version.error());
    if (auto good = accept(*version); !good) return std::unexpected(good.error());
    auto reader = open_extents(version->extents);
    if (reader) return OpenedObject{std::move(*version), std::move(*reader)};
    if (!is_changed(reader.error())) return std::unexpected(reader.error());
  }
  return refused("InternalError", "a blob of the version has no row");
}

Answer<std::unique_ptr<ObjectReader>> Store::open_extents(
    const std::vector<rows::Extent>& extents) {
  // Pinned before they are looked up: blobs found after that cannot be collected.
  const auto pinned = [&](bool on) {
    for (const rows::Extent& extent : extents) {
      if (extent.blob.empty()) continue;
      on ? pins_.pin(extent.blob) : pins_.unpin(extent.blob);
    }
  };
  pinned(true);
  auto blobs = blobs_of(extents);
  if (blobs) return std::make_unique<ObjectReader>(setting_, pins_, extents, std::move(*blobs));
  pinned(false);
  return std::unexpected(blobs.error());
}

void Store::count(const std::string& bucket, const rows::Version& version, int sign) {
  if (version.marker) return;
  usage_.add(bucket, sign * static_cast<std::int64_t>(version.size), sign);
}

Answer<std::optional<rows::Version>> Store::try_put(Viewed viewed, rows::Version fresh,
                                                    const std::vector<rows::Blob>& blobs,
                                                    const rows::Commit& besides, bool pass_over) {
  const rows::Versioning versioning = viewed.bucket.versioning;
  if (versioning == rows::Versioning::suspended) {
    if (auto good = fill_null(viewed.view); !good) return std::unexpected(good.error());
  }
  // Greater than the stamp that it follows, even if another gateway's clock made that one.
  fresh.stamp = std::max(fresh_stamp(), viewed.view.head ? viewed.view.head->stamp + 1 : 0);
  fresh.id = versioning == rows::Versioning::on
                 ? fmt::format("{:016x}{}", fresh.stamp, to_hex(setting_.random_bytes(8)))
                 : "null";
  fresh.modified_ms = setting_.now_ms();
  std::vector<rows::Blob> gone;
  const auto old = replaced_by_put(viewed.view, versioning);
  if (old) {
    auto found = blobs_of(rows::all_extents(*old), pass_over);
    if (!found) {
      if (is_changed(found.error())) return std::nullopt;
      return std::unexpected(found.error());
    }
    gone = std::move(*found);
  }
  rows::Commit commit = put_commit(viewed.view, versioning, fresh, blobs, gone);
  commit.expects.insert(commit.expects.end(), besides.expects.begin(), besides.expects.end());
  commit.changes.insert(commit.changes.end(), besides.changes.begin(), besides.changes.end());
  commit.durable = besides.durable;
  fence(commit, blobs);
  const auto done = setting_.metadata.commit(commit);
  if (!done) return undecided(done.error());
  if (!*done) return std::nullopt;
  if (old) count(viewed.view.bucket, *old, -1);
  count(viewed.view.bucket, fresh, 1);
  return fresh;
}

Answer<rows::Version> Store::put_with(std::string_view bucket, std::string_view key,
                                      const rows::Version& fresh,
                                      const std::vector<rows::Blob>& blobs,
                                      const WriteCondition& condition,
                                      const std::function<Answer<rows::Commit>()>& besides) {
  for (int look = 0;; ++look) {
    auto viewed = view(bucket, key);
    if (!viewed) return std::unexpected(viewed.error());
    if (auto good = check_condition(condition, viewed->view.head); !good) {
      return std::unexpected(good.error());
    }
    auto more = besides();
    if (!more && is_changed(more.error()) && look < kLooks) continue;
    if (!more) return std::unexpected(more.error());
    auto done = try_put(std::move(*viewed), fresh, blobs, *more, look >= kLooks);
    if (!done) return std::unexpected(done.error());
    if (*done) return std::move(**done);
    if (auto good = check_running(blobs); !good) return std::unexpected(good.error());
  }
}

Answer<rows::Version> Store::put(std::string_view bucket, std::string_view key,
                                 const rows::Version& fresh, const std::vector<rows::Blob>& blobs,
                                 const WriteCondition& condition) {
  if (auto room = check_room(); !room) return std::unexpected(room.error());
  return put_with(bucket, key, fresh, blobs, condition, [] { return rows::Commit{}; });
}

Answer<std::optional<Removed>> Store::try_remove(const Viewed& viewed, const Removal& removal,
                                                 bool pass_over) {
  KeyView view = viewed.view;
  const bool marks = !removal.version_id && viewed.bucket.versioning != rows::Versioning::off;
  if (marks) {
    auto put = try_put(viewed, rows::Version{.marker = true, .owner = viewed.bucket.owner}, {},
                       {.durable = removal.durable}, pass_over);
    if (!put) return std::unexpected(put.error());
    if (!*put) return std::nullopt;
    return Removed{(*put)->id, true};
  }
  std::optional<ReadVersion> old;
  const bool newest = view.head && (!removal.version_id || view.head->id == *removal.version_id);
  if (!newest && removal.version_id) {
    auto found = old_version(view, *removal.version_id);
    if (!found) return std::unexpected(found.error());
    old = std::move(*found);
  }
  if (!newest && !old) return Removed{removal.version_id.value_or(""), false};  // already removed
  const rows::Version& gone = newest ? *view.head : old->version;
  if (removal.only && !removal.only(gone)) return Removed{};
  if (auto free = check_unlocked(gone, setting_.now_ms(), removal.bypass_governance); !free) {
    return std::unexpected(free.error());
  }
  auto blobs = blobs_of(rows::all_extents(gone), pass_over);
  if (!blobs && is_changed(blobs.error())) return std::nullopt;
  if (!blobs) return std::unexpected(blobs.error());
  if (newest && viewed.bucket.versioning != rows::Versioning::off) {
    if (auto good = fill_next(view); !good) return std::unexpected(good.error());
  }
  rows::Commit commit =
      newest ? remove_head_commit(view, *blobs) : remove_old_commit(view, *old, *blobs);
  commit.durable = removal.durable;
  const auto done = setting_.metadata.commit(commit);
  if (!done) return refused(done.error());
  if (!*done) return std::nullopt;
  count(view.bucket, gone, -1);
  return Removed{removal.version_id ? gone.id : "", gone.marker};
}

Answer<Removed> Store::remove(std::string_view bucket, std::string_view key,
                              const Removal& removal) {
  for (int look = 0;; ++look) {
    auto viewed = view(bucket, key);
    if (!viewed) return std::unexpected(viewed.error());
    if (auto good = check_condition(removal.condition, viewed->view.head); !good) {
      return std::unexpected(good.error());
    }
    if (removal.only && !removal.version_id &&
        !(viewed->view.head && removal.only(*viewed->view.head))) {
      return Removed{};
    }
    auto done = try_remove(*viewed, removal, look >= kLooks);
    if (!done) return std::unexpected(done.error());
    if (*done) return std::move(**done);
  }
}

Answer<std::optional<ReadVersion>> Store::named_version(const KeyView& view,
                                                        const std::optional<std::string>& id) {
  if (view.head && (!id || view.head->id == *id)) return ReadVersion{*view.head, view.head_row};
  if (!id) return std::nullopt;
  return old_version(view, *id);
}

Answer<rows::Version> Store::change_version(
    std::string_view bucket, std::string_view key, const std::optional<std::string>& version_id,
    const std::function<Answer<void>(rows::Version&)>& change,
    const std::vector<rows::Blob>& fresh) {
  for (int look = 0;; ++look) {
    auto viewed = view(bucket, key);
    if (!viewed) return std::unexpected(viewed.error());
    auto found = named_version(viewed->view, version_id);
    if (!found) return std::unexpected(found.error());
    if (!*found) return refused(version_id ? "NoSuchVersion" : "NoSuchKey");
    rows::Version& version = (*found)->version;
    if (version.marker) return refused(version_id ? "MethodNotAllowed" : "NoSuchKey");
    std::vector<rows::Extent> gone = rows::all_extents(version);
    if (auto good = change(version); !good) return std::unexpected(good.error());
    for (const rows::Extent& kept : rows::all_extents(version)) {
      std::erase_if(gone, [&](const rows::Extent& extent) { return extent.blob == kept.blob; });
    }
    rows::Commit commit{.expects = {viewed->view.bucket_row, (*found)->row},
                        .changes = {{(*found)->row.key, rows::encode(version)}}};
    for (const rows::Blob& blob : fresh)
      commit.changes.push_back({rows::row::blob(blob.id), rows::encode(blob)});
    const auto blobs = blobs_of(gone, look >= kLooks);
    if (!blobs && is_changed(blobs.error())) continue;
    if (!blobs) return std::unexpected(blobs.error());
    discard(commit, *blobs);
    fence(commit, fresh);
    const auto done = setting_.metadata.commit(commit);
    if (!done) return undecided(done.error());
    if (*done) return std::move(version);
    if (auto good = check_running(fresh); !good) return std::unexpected(good.error());
  }
}

}  // namespace orrery::store
