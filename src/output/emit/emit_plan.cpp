#include "output/emit/emit_plan.h"

#include <algorithm>

#include "core/base/digest.h"
#include "output/emit/unified_diff.h"

namespace orrery::emit {
namespace {

// While files are being written, the manifest may contain a path twice.
bool is_ours(const Manifest& manifest, std::string_view path, std::string_view digest) {
  return std::ranges::any_of(manifest, [path, digest](const ManifestEntry& e) {
    return e.path == path && e.digest == digest;
  });
}

ChangeKind kind_of_clash(const Manifest& before, const std::string& path,
                         std::string_view text_on_disk) {
  if (is_ours(before, path, sha256_hex(text_on_disk))) return ChangeKind::update;
  return find_entry(before, path) ? ChangeKind::edited : ChangeKind::foreign;
}

Result<void> plan_writes(const EmitWish& wish, const Manifest& before, const ReadOnDisk& read,
                         EmitPlan& plan) {
  for (const EmittedFile& file : wish.files) {
    auto disk = read(file.path);
    if (!disk) return std::unexpected(std::move(disk.error()));
    plan.manifest.push_back({wish.target, file.path, sha256_hex(file.text), wish.design_digest});
    if (!*disk) {
      plan.changes.push_back({ChangeKind::create, file, ""});
      continue;
    }
    const FileOnDisk& there = **disk;
    if (there.text == file.text && there.executable == file.executable) continue;
    const ChangeKind kind =
        there.text == file.text ? ChangeKind::update : kind_of_clash(before, file.path, there.text);
    plan.changes.push_back({kind, file, there.text});
  }
  return {};
}

Result<void> plan_removals(const EmitWish& wish, const Manifest& before, const ReadOnDisk& read,
                           EmitPlan& plan) {
  for (const ManifestEntry& entry : before) {
    if (find_entry(plan.manifest, entry.path)) continue;
    if (entry.target != wish.target) {
      plan.manifest.push_back(entry);
      continue;
    }
    auto disk = read(entry.path);
    if (!disk) return std::unexpected(std::move(disk.error()));
    const bool seen = std::ranges::any_of(
        plan.changes, [&entry](const Change& c) { return c.file.path == entry.path; });
    if (!*disk || seen || !is_ours(before, entry.path, sha256_hex((*disk)->text))) continue;
    plan.changes.push_back({ChangeKind::remove, {.path = entry.path}, std::move((*disk)->text)});
  }
  return {};
}

}  // namespace

Result<EmitPlan> plan_emit(const EmitWish& wish, const Manifest& before, const ReadOnDisk& read) {
  EmitPlan plan;
  if (auto done = plan_writes(wish, before, read, plan); !done) {
    return std::unexpected(std::move(done.error()));
  }
  if (auto done = plan_removals(wish, before, read, plan); !done) {
    return std::unexpected(std::move(done.error()));
  }
  std::ranges::sort(plan.manifest, {}, &ManifestEntry::path);
  std::ranges::sort(plan.changes, {}, [](const Change& c) { return c.file.path; });
  plan.manifest_changes = plan.manifest != before;
  return plan;
}

bool is_conflict(const Change& change) {
  return change.kind == ChangeKind::edited || change.kind == ChangeKind::foreign;
}

EmitPlan keeping_conflicts(EmitPlan plan, const Manifest& before) {
  for (const Change& change : plan.changes) {
    if (!is_conflict(change)) continue;
    std::erase_if(plan.manifest,
                  [&change](const ManifestEntry& e) { return e.path == change.file.path; });
    if (const ManifestEntry* old = find_entry(before, change.file.path)) {
      plan.manifest.push_back(*old);
    }
  }
  std::erase_if(plan.changes, is_conflict);
  std::ranges::sort(plan.manifest, {}, &ManifestEntry::path);
  plan.manifest_changes = plan.manifest != before;
  return plan;
}

Manifest manifest_between(const Manifest& before, const Manifest& after) {
  Manifest both = before;
  for (const ManifestEntry& e : after) {
    if (!is_ours(before, e.path, e.digest)) both.push_back(e);
  }
  std::ranges::stable_sort(both, {}, &ManifestEntry::path);
  return both;
}

std::string diff_of(const EmitPlan& plan) {
  std::string out;
  for (const Change& c : plan.changes) {
    out += unified_diff({.path = c.file.path,
                         .before = c.before,
                         .after = c.file.text,
                         .is_new = c.kind == ChangeKind::create,
                         .is_gone = c.kind == ChangeKind::remove});
  }
  return out;
}

}  // namespace orrery::emit
