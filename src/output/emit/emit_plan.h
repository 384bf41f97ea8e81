// Decides what an emit would change in its folder before anything is written.
//
// A file on disk is ours if its digest is in the manifest. Any other file was edited or created by
// a user and is kept unless an option says otherwise. Files that an earlier emit of the same target
// wrote and this one does not write are removed if they are still ours.
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
  edited,   // written by us, then edited by hand
  foreign,  // not written by us
};

struct Change {
  ChangeKind kind = ChangeKind::create;
  EmittedFile file;    // wanted contents; no text for a removal
  std::string before;  // text on disk now
};

struct EmitPlan {
  std::vector<Change> changes;  // sorted by path; unchanged files are not listed
  Manifest manifest;            // manifest after all changes
  bool manifest_changes = false;

  bool empty() const { return changes.empty() && !manifest_changes; }
};

struct EmitWish {
  std::string target;         // "slurm"
  std::string design_digest;  // digest for the manifest's entries
  const EmittedFiles& files;
};

using ReadOnDisk = std::function<Result<std::optional<FileOnDisk>>(const std::string& path)>;
Result<EmitPlan> plan_emit(const EmitWish& wish, const Manifest& before, const ReadOnDisk& read);

// Returns true for a change that needs a decision of the user: an edited or a foreign file.
bool is_conflict(const Change& change);
// Returns the plan without its conflicts: those files stay as they are, and keep their entries.
EmitPlan keeping_conflicts(EmitPlan plan, const Manifest& before);
// Returns the manifest while files are being written: old and new digests both count as ours, so
// that an interrupted run leaves nothing that looks edited by hand.
Manifest manifest_between(const Manifest& before, const Manifest& after);

// Returns the unified diffs of all changes, including conflicts.
std::string diff_of(const EmitPlan& plan);

}  // namespace orrery::emit
