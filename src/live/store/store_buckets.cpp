// The store's buckets, multipart uploads and garbage.
#include <fmt/core.h>

#include "live/store/store.h"

namespace orrery::store {
namespace {

// Blobs collected in one commit.
constexpr std::size_t kCollectMax = 500;
constexpr std::size_t kLookedAtMax = 1000;  // rows that must wait, per call

Answer<bool> any_row(rows::Metadata& metadata, const std::string& from) {
  const auto cursor = metadata.cursor();
  cursor->seek(from);
  if (auto state = cursor->state(); !state) return refused(state.error());
  return cursor->valid() && cursor->key().starts_with(from);
}

}  // namespace

Answer<rows::Bucket> Store::bucket(std::string_view name) {
  const auto found = setting_.metadata.get(rows::row::bucket(name));
  if (!found) return refused(found.error());
  auto bucket = *found ? rows::decode_bucket(**found) : std::nullopt;
  if (!bucket) return refused("NoSuchBucket");
  return std::move(*bucket);
}

Answer<void> Store::make_bucket(const rows::Bucket& wanted) {
  if (auto room = check_room(); !room) return room;
  const std::string key = rows::row::bucket(wanted.name);
  const auto done = setting_.metadata.commit(
      {.expects = {{key, std::nullopt}}, .changes = {{key, rows::encode(wanted)}}});
  if (!done) return refused(done.error());
  if (*done) return {};
  const auto found = bucket(wanted.name);
  if (!found) return refused("ServiceUnavailable");
  return refused(found->owner == wanted.owner ? "BucketAlreadyOwnedByYou" : "BucketAlreadyExists");
}

Answer<void> Store::change_bucket(std::string_view name,
                                  const std::function<Answer<void>(rows::Bucket&)>& change) {
  while (true) {
    const auto found = setting_.metadata.get(rows::row::bucket(name));
    if (!found) return refused(found.error());
    auto bucket = *found ? rows::decode_bucket(**found) : std::nullopt;
    if (!bucket) return refused("NoSuchBucket");
    if (auto good = change(*bucket); !good) return good;
    const auto done =
        setting_.metadata.commit({.expects = {{rows::row::bucket(name), *found}},
                                  .changes = {{rows::row::bucket(name), rows::encode(*bucket)}}});
    if (!done) return refused(done.error());
    if (*done) return {};
  }
}

// A put expects the bucket's row as it read it. So the row is changed first: objects put before
// that are found by the search below, and a later put has to read the row again.
Answer<void> Store::remove_bucket(std::string_view name) {
  const std::string mark = fresh_id();
  const auto set_mark = [&](rows::Bucket& bucket) -> Answer<void> {
    std::erase_if(bucket.documents, [](const auto& d) { return d.first == "removing"; });
    bucket.documents.emplace_back("removing", mark);
    return {};
  };
  if (auto marked = change_bucket(name, set_mark); !marked) return marked;
  const auto any = any_row(setting_.metadata, rows::row::objects(name));
  if (!any) return std::unexpected(any.error());
  if (*any) return refused("BucketNotEmpty");
  if (auto aborted = abort_uploads(name); !aborted) return aborted;
  const auto found = setting_.metadata.get(rows::row::bucket(name));
  if (!found) return refused(found.error());
  const auto now = *found ? rows::decode_bucket(**found) : std::nullopt;
  if (!now) return refused("NoSuchBucket");
  if (net::header_of(now->documents, "removing") != mark) return refused("ServiceUnavailable");
  const auto done =
      setting_.metadata.commit({.expects = {{rows::row::bucket(name), *found}},
                                .changes = {{rows::row::bucket(name), std::nullopt}}});
  if (!done) return refused(done.error());
  if (!*done) return refused("ServiceUnavailable");
  return {};
}

Answer<std::vector<rows::Bucket>> Store::buckets(std::string_view owner) {
  std::vector<rows::Bucket> all;
  const std::string from = rows::row::bucket("");
  const auto cursor = setting_.metadata.cursor();
  for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
    auto bucket = rows::decode_bucket(cursor->value());
    if (bucket && (owner.empty() || bucket->owner == owner)) all.push_back(std::move(*bucket));
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  return all;
}

Answer<std::string> Store::begin_upload(rows::Upload upload) {
  if (auto room = check_room(); !room) return std::unexpected(room.error());
  upload.id = fresh_id();
  upload.started_ms = setting_.now_ms();
  while (true) {
    const auto bucket_row = setting_.metadata.get(rows::row::bucket(upload.bucket));
    if (!bucket_row) return refused(bucket_row.error());
    if (!*bucket_row) return refused("NoSuchBucket");
    const auto done = setting_.metadata.commit(
        {.expects = {{rows::row::bucket(upload.bucket), *bucket_row}},
         .changes = {
             {rows::row::upload(upload.bucket, upload.key, upload.id), rows::encode(upload)}}});
    if (!done) return refused(done.error());
    if (*done) return upload.id;
  }
}

Answer<rows::Upload> Store::upload(std::string_view bucket, std::string_view key,
                                   std::string_view id) {
  const auto found = setting_.metadata.get(rows::row::upload(bucket, key, id));
  if (!found) return refused(found.error());
  auto upload = *found ? rows::decode_upload(**found) : std::nullopt;
  if (!upload) return refused("NoSuchUpload");
  return std::move(*upload);
}

Answer<void> Store::put_part(const rows::Upload& upload, const rows::Part& part,
                             const std::optional<rows::Blob>& blob) {
  if (auto room = check_room(); !room) return room;
  const std::string upload_row = rows::row::upload(upload.bucket, upload.key, upload.id);
  const std::string part_row = rows::row::part(upload.id, part.number);
  for (int look = 0;; ++look) {
    const auto before = setting_.metadata.get(part_row);
    if (!before) return refused(before.error());
    rows::Commit commit{.expects = {{upload_row, rows::encode(upload)}, {part_row, *before}},
                        .changes = {{part_row, rows::encode(part)}}};
    const auto old = *before ? rows::decode_part(**before) : std::nullopt;
    if (old) {
      const auto gone = blobs_of({old->extent}, look >= kLooks);
      if (!gone && gone.error().code == kRowChanged) continue;
      if (!gone) return std::unexpected(gone.error());
      discard(commit, *gone);
    }
    if (blob) commit.changes.push_back({rows::row::blob(blob->id), rows::encode(*blob)});
    const std::vector<rows::Blob> fresh(blob ? 1 : 0, blob.value_or(rows::Blob{}));
    fence(commit, fresh);
    const auto done = setting_.metadata.commit(commit);
    if (!done) return undecided(done.error());
    if (*done) {
      const auto size = static_cast<std::int64_t>(part.extent.size);
      usage_.add(upload.bucket, size - static_cast<std::int64_t>(old ? old->extent.size : 0), 0);
      return {};
    }
    const auto still = this->upload(upload.bucket, upload.key, upload.id);
    if (!still) return std::unexpected(still.error());
    if (auto good = check_running(fresh); !good) return good;
  }
}

Answer<std::vector<rows::Part>> Store::parts(std::string_view upload) {
  std::vector<rows::Part> all;
  const std::string from = rows::row::parts(upload);
  const auto cursor = setting_.metadata.cursor();
  for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
    auto part = rows::decode_part(cursor->value());
    if (part) all.push_back(std::move(*part));
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  return all;
}

Answer<rows::Version> Store::complete_upload(const rows::Upload& upload,
                                             const rows::Version& version,
                                             const WriteCondition& condition) {
  std::set<std::string> kept;
  for (const rows::Extent& extent : version.extents) kept.insert(extent.blob);
  std::int64_t in_parts = 0;
  const auto besides = [&]() -> Answer<rows::Commit> {
    rows::Commit more;
    const std::string upload_row = rows::row::upload(upload.bucket, upload.key, upload.id);
    more.expects.push_back({upload_row, rows::encode(upload)});
    more.changes.push_back({upload_row, std::nullopt});
    const auto all = parts(upload.id);
    if (!all) return std::unexpected(all.error());
    const auto still = this->upload(upload.bucket, upload.key, upload.id);
    if (!still) return std::unexpected(still.error());
    std::set<std::string> found;
    in_parts = 0;
    for (const rows::Part& part : *all) {
      in_parts += static_cast<std::int64_t>(part.extent.size);
      found.insert(part.extent.blob);
      more.expects.push_back({rows::row::part(upload.id, part.number), rows::encode(part)});
      more.changes.push_back({rows::row::part(upload.id, part.number), std::nullopt});
      if (kept.contains(part.extent.blob)) continue;
      // As in abort_upload: if a part was replaced in the meantime, the commit fails.
      const auto gone = blobs_of({part.extent}, true);
      if (!gone) return std::unexpected(gone.error());
      discard(more, *gone);
    }
    for (const std::string& blob : kept) {
      if (!found.contains(blob)) return refused("InvalidPart");
    }
    return more;
  };
  auto done = put_with(upload.bucket, upload.key, version, {}, condition, besides);
  if (done) usage_.add(upload.bucket, -in_parts, 0);
  return done;
}

Answer<void> Store::abort_upload(std::string_view bucket, std::string_view key,
                                 std::string_view id) {
  while (true) {
    const auto found = upload(bucket, key, id);
    if (!found) return std::unexpected(found.error());
    const std::string upload_row = rows::row::upload(bucket, key, id);
    rows::Commit commit{.expects = {{upload_row, rows::encode(*found)}},
                        .changes = {{upload_row, std::nullopt}}};
    const auto all = parts(id);
    if (!all) return std::unexpected(all.error());
    for (const rows::Part& part : *all) {
      // A part that was replaced in the meantime has another blob, so the commit fails.
      const auto gone = blobs_of({part.extent}, true);
      if (!gone) return std::unexpected(gone.error());
      commit.expects.push_back({rows::row::part(id, part.number), rows::encode(part)});
      commit.changes.push_back({rows::row::part(id, part.number), std::nullopt});
      discard(commit, *gone);
    }
    const auto done = setting_.metadata.commit(commit);
    if (!done) return refused(done.error());
    if (!*done) continue;
    for (const rows::Part& part : *all) {
      usage_.add(found->bucket, -static_cast<std::int64_t>(part.extent.size), 0);
    }
    return {};
  }
}

Answer<void> Store::abort_uploads(std::string_view bucket) {
  std::vector<rows::Upload> open;
  const std::string from = rows::row::uploads(bucket);
  const auto cursor = setting_.metadata.cursor();
  for (cursor->seek(from); cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
    if (auto upload = rows::decode_upload(cursor->value())) open.push_back(std::move(*upload));
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  for (const rows::Upload& upload : open) {
    auto done = abort_upload(bucket, upload.key, upload.id);
    if (!done && done.error().code != "NoSuchUpload") return done;
  }
  return {};
}

// Returns whether no gateway can be reading it any more.
bool Store::is_ripe(const std::string& garbage) {
  if (!setting_.metadata.is_shared() || setting_.shared_grace_ms == 0) return true;
  const rows::TimeMs now = setting_.now_ms();
  const auto [seen, fresh] = garbage_seen_.emplace(garbage, now);
  if (fresh || now - seen->second < setting_.shared_grace_ms) return false;
  garbage_seen_.erase(seen);
  return true;
}

Answer<std::size_t> Store::collect() {
  std::vector<rows::Blob> blobs;
  const std::string from = rows::row::garbage("");
  const auto cursor = setting_.metadata.cursor();
  std::size_t looked = 0;
  cursor->seek(garbage_after_.empty() ? from : garbage_after_ + '\0');
  for (; cursor->valid() && cursor->key().starts_with(from); cursor->next()) {
    garbage_after_ = cursor->key();
    auto blob = rows::decode_blob(cursor->value());
    if (!blob || pins_.pinned(blob->id) || !is_ripe(blob->id)) {
      if (++looked >= kLookedAtMax) break;
      continue;
    }
    blobs.push_back(std::move(*blob));
    if (blobs.size() >= kCollectMax) break;
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  if (!cursor->valid() || !cursor->key().starts_with(from)) garbage_after_.clear();
  if (blobs.empty()) return 0;
  rows::Commit commit;
  for (const rows::Blob& blob : blobs) {
    forget(blob);
    commit.changes.push_back({rows::row::garbage(blob.id), std::nullopt});
  }
  const auto done = setting_.metadata.commit(commit);
  if (!done) return refused(done.error());
  return blobs.size();
}

}  // namespace orrery::store
