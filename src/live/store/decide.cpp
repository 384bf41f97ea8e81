#include "live/store/decide.h"

namespace orrery::store {
namespace {

Commit begun(const KeyView& view) {
  return {.expects = {view.bucket_row, view.head_row}, .changes = {}};
}

bool is_null(const std::optional<Version>& version) { return version && version->id == "null"; }

}  // namespace

void discard(Commit& commit, const std::vector<Blob>& blobs) {
  for (const Blob& blob : blobs) {
    // Another may be rebuilding or moving it: then what is to be collected is not what was read.
    commit.expects.push_back({row::blob(blob.id), encode(blob)});
    commit.changes.push_back({row::blob(blob.id), std::nullopt});
    if (!blob.held.empty()) continue;  // it had no files
    commit.changes.push_back({row::garbage(blob.id), encode(blob)});
  }
}

std::optional<Version> replaced_by_put(const KeyView& view, Versioning versioning) {
  if (versioning == Versioning::on) return std::nullopt;
  if (is_null(view.head)) return view.head;
  if (view.null_version) return view.null_version->version;
  return std::nullopt;
}

Commit put_commit(const KeyView& view, Versioning versioning, const Version& fresh,
                  const std::vector<Blob>& blobs, const std::vector<Blob>& replaced) {
  Commit commit = begun(view);
  const bool keeps_head = view.head && (versioning == Versioning::on || !is_null(view.head));
  if (keeps_head) {
    commit.changes.push_back(
        {row::version(view.bucket, view.key, view.head->stamp), view.head_row.value});
  }
  if (versioning != Versioning::on && view.null_version) {
    commit.expects.push_back(view.null_version->row);
    commit.changes.push_back({view.null_version->row.key, std::nullopt});
  }
  commit.changes.push_back({view.head_row.key, encode(fresh)});
  for (const Blob& blob : blobs) commit.changes.push_back({row::blob(blob.id), encode(blob)});
  discard(commit, replaced);
  return commit;
}

Commit remove_head_commit(const KeyView& view, const std::vector<Blob>& blobs) {
  Commit commit = begun(view);
  if (view.next) {
    commit.expects.push_back(view.next->row);
    commit.changes.push_back({view.head_row.key, view.next->row.value});
    commit.changes.push_back({view.next->row.key, std::nullopt});
  } else {
    commit.changes.push_back({view.head_row.key, std::nullopt});
  }
  discard(commit, blobs);
  return commit;
}

Commit remove_old_commit(const KeyView& view, const ReadVersion& old,
                         const std::vector<Blob>& blobs) {
  Commit commit = begun(view);
  commit.expects.push_back(old.row);
  commit.changes.push_back({old.row.key, std::nullopt});
  discard(commit, blobs);
  return commit;
}

}  // namespace orrery::store
