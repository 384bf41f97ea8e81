// What an emit would change in its folder, decided before anything is written.
//
// A file on disk is ours when its digest stands in the manifest; anything else there was edited or
// put there by a person and is kept unless told otherwise. Files that an earlier emit of the same
// target wrote and this one does not are removed, if still ours.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "output/emit/file.h"
#include "output/emit/stamp.h"

namespace orrery::emit {

struct FileOnDisk {
  std::string text;
  bool executable = false;
};

enum class ChangeKind {
  create,
  update,
  remove,
  edited,   // ours once, and changed by hand since
  foreign,  // never ours
};

struct Change {
  ChangeKind kind = ChangeKind::create;
  EmittedFile file;    // as it is to be; no text for a removal
  std::string before;  // text on disk
};

struct EmitPlan {
  std::vector<Change> changes;  // sorted by path; files that stay as they are do not appear
  Manifest manifest;            // once all changes are made
  bool manifest_changes = false;

  bool empty() const { return changes.empty() && !manifest_changes; }
};

struct EmitWish {
  std::string target;         // "slurm"
  std::string design_digest;  // of the manifest's entries
  const EmittedFiles& files;
};

using ReadOnDisk = std::function<Result<std::optional<FileOnDisk>>(const std::string& path)>;
Result<EmitPlan> plan_emit(const EmitWish& wish, const Manifest& before, const ReadOnDisk& read);

// Conflicts are the changes that need a person's word: edited and foreign files.
bool is_conflict(const Change& change);
// The plan without its conflicts: what is in the way stays, with the entry it had.
EmitPlan keeping_conflicts(EmitPlan plan, const Manifest& before);
// The manifest while the files are being written: old and new digests both count as ours, so that a
// run which is killed halfway leaves nothing that looks like a hand edit.
Manifest manifest_between(const Manifest& before, const Manifest& after);

// The unified diffs of all changes, conflicts included.
std::string diff_of(const EmitPlan& plan);

}  // namespace orrery::emit
