#include "live/store/decide.h"

namespace orrery::store {
namespace {

rows::Commit begun(const KeyView& view) {
  return {.expects = {view.bucket_row, view.head_row}, .changes = {}};
}

bool is_null(const std::optional<rows::Version>& version) {
  return version && version->id == "null";
}

}  // namespace

void discard(rows::Commit& commit, const std::vector<rows::Blob>& blobs) {
  for (const rows::Blob& blob : blobs) {
    // Another request may be rebuilding or moving the blob; its files would then differ from those
    // that were read.
    commit.expects.push_back({rows::row::blob(blob.id), rows::encode(blob)});
    commit.changes.push_back({rows::row::blob(blob.id), std::nullopt});
    if (!blob.held.empty()) continue;  // it has no files
    commit.changes.push_back({rows::row::garbage(blob.id), rows::encode(blob)});
  }
}

std::optional<rows::Version> replaced_by_put(const KeyView& view, rows::Versioning versioning) {
  if (versioning == rows::Versioning::on) return std::nullopt;
  if (is_null(view.head)) return view.head;
  if (view.null_version) return view.null_version->version;
  return std::nullopt;
}

rows::Commit put_commit(const KeyView& view, rows::Versioning versioning,
                        const rows::Version& fresh, const std::vector<rows::Blob>& blobs,
                        const std::vector<rows::Blob>& replaced) {
  rows::Commit commit = begun(view);
  const bool keeps_head = view.head && (versioning == rows::Versioning::on || !is_null(view.head));
  if (keeps_head) {
    commit.changes.push_back(
        {rows::row::version(view.bucket, view.key, view.head->stamp), view.head_row.value});
  }
  if (versioning != rows::Versioning::on && view.null_version) {
    commit.expects.push_back(view.null_version->row);
    commit.changes.push_back({view.null_version->row.key, std::nullopt});
  }
  commit.changes.push_back({view.head_row.key, rows::encode(fresh)});
  for (const rows::Blob& blob : blobs)
    commit.changes.push_back({rows::row::blob(blob.id), rows::encode(blob)});
  discard(commit, replaced);
  return commit;
}

rows::Commit remove_head_commit(const KeyView& view, const std::vector<rows::Blob>& blobs) {
  rows::Commit commit = begun(view);
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

rows::Commit remove_old_commit(const KeyView& view, const ReadVersion& old,
                               const std::vector<rows::Blob>& blobs) {
  rows::Commit commit = begun(view);
  commit.expects.push_back(old.row);
  commit.changes.push_back({old.row.key, std::nullopt});
  discard(commit, blobs);
  return commit;
}

}  // namespace orrery::store
