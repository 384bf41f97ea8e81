#include "output/emit/emit_plan.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>

#include "output/emit/emit_folder.h"
#include "core/base/digest.h"
#include "live/agent/test_folder.h"

namespace orrery::emit {
namespace {

ManifestEntry entry_of(const std::string& target, const std::string& path,
                             const std::string& text, const std::string& design) {
  return {target, path, sha256_hex(text), design};
}

// Files by path; "broken" cannot be read.
class EmitCases : public testing::Test {
 protected:
  Result<EmitPlan> planned(const EmittedFiles& files, const Manifest& before) const {
    return plan_emit({"t", "d1", files}, before,
                     [this](const std::string& path) -> Result<std::optional<FileOnDisk>> {
                       if (path == "broken") return fail({.code = "disk", .what = "broken"});
                       const auto at = disk.find(path);
                       if (at == disk.end()) return std::nullopt;
                       return at->second;
                     });
  }
  // Returns "create a; update b": the action for each file.
  static std::string actions_of(const EmitPlan& plan) {
    const char* names[] = {"create", "update", "remove", "edited", "foreign"};
    std::string all;
    for (const Change& c : plan.changes) {
      all += (all.empty() ? "" : "; ") + std::string(names[static_cast<int>(c.kind)]) + ' ' +
             c.file.path + " (" + c.before + " -> " + c.file.text + ')';
    }
    return all;
  }
  std::map<std::string, FileOnDisk> disk;
};

TEST_F(EmitCases, every_file_is_new_ours_edited_or_foreign) {
  disk = {{"same", {"s", false}},      {"rights", {"r", true}},   {"ours", {"old o", false}},
          {"edited", {"mine", false}}, {"foreign", {"f", false}}, {"runs", {"x", true}}};
  const EmittedFiles files = {{"same", "s"},       {"rights", "r"}, {"ours", "new o"},
                                    {"edited", "new e"}, {"new", "n"},    {"foreign", "new f"},
                                    {"runs", "x", true}};
  const Manifest before = {entry_of("t", "edited", "old e", "d0"),
                                 entry_of("t", "ours", "old o", "d0"),
                                 entry_of("t", "same", "s", "d1")};
  const auto plan = planned(files, before);
  ASSERT_TRUE(plan);
  EXPECT_EQ(actions_of(*plan),
            "edited edited (mine -> new e); foreign foreign (f -> new f); create new ( -> n); "
            "update ours (old o -> new o); update rights (r -> r)");
  EXPECT_FALSE(plan->changes.back().file.executable);
  Manifest wanted;
  for (const auto& [path, text] :
       std::vector<std::pair<std::string, std::string>>{{"edited", "new e"},
                                                        {"foreign", "new f"},
                                                        {"new", "n"},
                                                        {"ours", "new o"},
                                                        {"rights", "r"},
                                                        {"runs", "x"},
                                                        {"same", "s"}}) {
    wanted.push_back(entry_of("t", path, text, "d1"));
  }
  EXPECT_EQ(plan->manifest, wanted) << "by path";
  EXPECT_TRUE(plan->manifest_changes);
  EXPECT_FALSE(plan->empty());
}

TEST_F(EmitCases, obsolete_files_are_removed_if_unedited) {
  disk = {{"gone", {"g", false}}, {"mine", {"edited", false}}, {"other", {"o", false}}};
  const Manifest before = {entry_of("t", "absent", "a", "d0"),
                                 entry_of("t", "gone", "older", "d0"),
                                 entry_of("t", "gone", "g", "d0"), entry_of("t", "mine", "m", "d0"),
                                 entry_of("u", "other", "o", "d0")};
  const auto plan = planned({}, before);
  ASSERT_TRUE(plan);
  EXPECT_EQ(actions_of(*plan), "remove gone (g -> )");
  EXPECT_EQ(plan->manifest, (Manifest{before[4]}));
  EXPECT_TRUE(plan->manifest_changes);
}

TEST_F(EmitCases, an_up_to_date_folder_is_unchanged) {
  disk = {{"a", {"x", false}}};
  const auto plan = planned({{"a", "x"}}, {entry_of("t", "a", "x", "d1")});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->empty());
  EXPECT_FALSE(plan->manifest_changes);
  // Another design with the same text: only the manifest is rewritten.
  const auto other = planned({{"a", "x"}}, {entry_of("t", "a", "x", "d0")});
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->changes.empty());
  EXPECT_TRUE(other->manifest_changes);
  EXPECT_FALSE(other->empty());
}

TEST_F(EmitCases, a_disk_error_ends_the_plan) {
  EXPECT_EQ(planned({{"broken", "x"}}, {}).error().front().what, "broken");
  EXPECT_EQ(planned({}, {entry_of("t", "broken", "x", "d0")}).error().front().what, "broken");
  EXPECT_TRUE(planned({}, {entry_of("u", "broken", "x", "d0")}));
}

TEST_F(EmitCases, conflicts_need_force_or_keep) {
  EXPECT_TRUE(is_conflict({.kind = ChangeKind::edited}));
  EXPECT_TRUE(is_conflict({.kind = ChangeKind::foreign}));
  for (const ChangeKind kind : {ChangeKind::create, ChangeKind::update, ChangeKind::remove}) {
    EXPECT_FALSE(is_conflict({.kind = kind}));
  }
  // If every change is a conflict, nothing is left to do and the manifest is unchanged.
  disk = {{"a", {"mine", false}}};
  const Manifest before = {entry_of("t", "a", "old", "d0")};
  const EmitPlan kept = keeping_conflicts(planned({{"a", "new"}}, before).value(), before);
  EXPECT_TRUE(kept.changes.empty());
  EXPECT_EQ(kept.manifest, before);
  EXPECT_FALSE(kept.manifest_changes);
  EXPECT_TRUE(kept.empty());
}

TEST_F(EmitCases, both_versions_are_ours_during_a_write) {
  const Manifest before = {entry_of("t", "b", "old b", "d0"), entry_of("t", "c", "c", "d0")};
  const Manifest after = {entry_of("t", "a", "a", "d1"), entry_of("t", "b", "new b", "d1"),
                                entry_of("t", "c", "c", "d1")};
  EXPECT_EQ(manifest_between(before, after),
            (Manifest{after[0], before[0], after[1], before[1]}));
  EXPECT_EQ(manifest_between({}, after), after);
  EXPECT_EQ(manifest_between(before, {}), before);
}

// If a run is killed between two files, old and new ones coexist, and neither counts as a hand
// edit.
TEST(EmitPlan, a_half_written_folder_is_no_hand_edit) {
  const EmittedFiles old_files = {{"a", "old a"}, {"b", "old b"}};
  const EmittedFiles new_files = {{"a", "new a"}, {"b", "new b"}};
  const auto entry = [](const EmittedFile& f) {
    return ManifestEntry{"t", f.path, sha256_hex(f.text), "d"};
  };
  const Manifest before = {entry(old_files[0]), entry(old_files[1])};
  const Manifest after = {entry(new_files[0]), entry(new_files[1])};
  const auto round = read_manifest(write_manifest(manifest_between(before, after)), "m");
  ASSERT_TRUE(round.has_value());
  const auto disk = [&](const std::string& path) -> Result<std::optional<FileOnDisk>> {
    return FileOnDisk{path == "a" ? "new a" : "old b"};
  };
  const EmittedFiles third = {{"a", "third a"}, {"b", "third b"}};
  const auto plan = plan_emit({"t", "d", third}, *round, disk);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->changes.size(), 2U);
  for (const Change& c : plan->changes) EXPECT_EQ(c.kind, ChangeKind::update) << c.file.path;
  EXPECT_EQ(plan->manifest.size(), 2U);
}

// An edited file that is kept also keeps its entry, so that it counts as edited in later runs.
TEST(EmitPlan, conflicts_keep_their_manifest_entries) {
  const auto entry = [](const char* path, const char* text) {
    return ManifestEntry{"t", path, sha256_hex(text), "d0"};
  };
  const Manifest before = {entry("a", "old a"), entry("b", "old b")};
  const EmittedFiles files = {{"a", "new a"}, {"b", "new b"}, {"c", "new c"}};
  const auto disk = [](const std::string& path) -> Result<std::optional<FileOnDisk>> {
    if (path == "a") return FileOnDisk{"mine"};
    if (path == "b") return FileOnDisk{"old b"};
    return FileOnDisk{"never ours"};
  };
  const auto plan = plan_emit({"t", "d1", files}, before, disk);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->changes.size(), 3U);
  EXPECT_EQ(plan->changes[0].kind, ChangeKind::edited);
  EXPECT_EQ(plan->changes[1].kind, ChangeKind::update);
  EXPECT_EQ(plan->changes[2].kind, ChangeKind::foreign);
  const EmitPlan kept = keeping_conflicts(*plan, before);
  ASSERT_EQ(kept.changes.size(), 1U);
  EXPECT_EQ(kept.changes[0].file.path, "b");
  EXPECT_EQ(kept.manifest, (Manifest{before[0], {"t", "b", sha256_hex("new b"), "d1"}}));
  EXPECT_TRUE(kept.manifest_changes);
}

}  // namespace
}  // namespace orrery::emit
