// What an emit plans for each way in which a file may lie on the disk, what its folder says of what
// is in the way, and what the verb prints.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "app/cli/spoken_fixture.h"
#include "core/base/digest.h"
#include "live/agent/test_folder.h"
#include "output/emit/emit_folder.h"
#include "output/emit/emit_plan.h"

namespace orrery::cli {
namespace {

using emit::Change;
using emit::ChangeKind;
using emit::diff_of;
using emit::EmitFolder;
using emit::EmitPlan;
using emit::FileOnDisk;
using emit::is_conflict;
using emit::keeping_conflicts;
using emit::manifest_between;
using emit::plan_emit;

namespace fs = std::filesystem;
using testing::HasSubstr;

emit::ManifestEntry entry_of(const std::string& target, const std::string& path,
                             const std::string& text, const std::string& design) {
  return {target, path, sha256_hex(text), design};
}

// Files by path; "broken" cannot be read.
class EmitCases : public testing::Test {
 protected:
  Result<EmitPlan> planned(const emit::EmittedFiles& files, const emit::Manifest& before) const {
    return plan_emit({"t", "d1", files}, before,
                     [this](const std::string& path) -> Result<std::optional<FileOnDisk>> {
                       if (path == "broken") return fail({.code = "disk", .what = "broken"});
                       const auto at = disk.find(path);
                       if (at == disk.end()) return std::nullopt;
                       return at->second;
                     });
  }
  // "create a; update b": what is to be done with which file.
  static std::string told(const EmitPlan& plan) {
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

TEST_F(EmitCases, each_file_is_new_ours_edited_or_foreign) {
  disk = {{"same", {"s", false}},      {"rights", {"r", true}},   {"ours", {"old o", false}},
          {"edited", {"mine", false}}, {"foreign", {"f", false}}, {"runs", {"x", true}}};
  const emit::EmittedFiles files = {{"same", "s"},       {"rights", "r"}, {"ours", "new o"},
                                    {"edited", "new e"}, {"new", "n"},    {"foreign", "new f"},
                                    {"runs", "x", true}};
  const emit::Manifest before = {entry_of("t", "edited", "old e", "d0"),
                                 entry_of("t", "ours", "old o", "d0"),
                                 entry_of("t", "same", "s", "d1")};
  const auto plan = planned(files, before);
  ASSERT_TRUE(plan);
  EXPECT_EQ(told(*plan),
            "edited edited (mine -> new e); foreign foreign (f -> new f); create new ( -> n); "
            "update ours (old o -> new o); update rights (r -> r)");
  EXPECT_FALSE(plan->changes.back().file.executable) << "it had the right to run, and has not";
  emit::Manifest wanted;
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

TEST_F(EmitCases, what_is_no_longer_emitted_goes_if_it_is_still_ours) {
  disk = {{"gone", {"g", false}}, {"mine", {"edited", false}}, {"other", {"o", false}}};
  const emit::Manifest before = {entry_of("t", "absent", "a", "d0"),
                                 entry_of("t", "gone", "older", "d0"),
                                 entry_of("t", "gone", "g", "d0"), entry_of("t", "mine", "m", "d0"),
                                 entry_of("u", "other", "o", "d0")};
  const auto plan = planned({}, before);
  ASSERT_TRUE(plan);
  EXPECT_EQ(told(*plan), "remove gone (g -> )") << "once, though it stands there twice";
  EXPECT_EQ(plan->manifest, (emit::Manifest{before[4]})) << "that of another target stays";
  EXPECT_TRUE(plan->manifest_changes);
}

TEST_F(EmitCases, what_is_as_it_should_be_changes_nothing) {
  disk = {{"a", {"x", false}}};
  const auto plan = planned({{"a", "x"}}, {entry_of("t", "a", "x", "d1")});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->empty());
  EXPECT_FALSE(plan->manifest_changes);
  // Another design with the same text: the manifest alone is written anew.
  const auto other = planned({{"a", "x"}}, {entry_of("t", "a", "x", "d0")});
  ASSERT_TRUE(other);
  EXPECT_TRUE(other->changes.empty());
  EXPECT_TRUE(other->manifest_changes);
  EXPECT_FALSE(other->empty());
}

TEST_F(EmitCases, a_disk_that_fails_ends_it) {
  EXPECT_EQ(planned({{"broken", "x"}}, {}).error().front().what, "broken");
  EXPECT_EQ(planned({}, {entry_of("t", "broken", "x", "d0")}).error().front().what, "broken");
  EXPECT_TRUE(planned({}, {entry_of("u", "broken", "x", "d0")})) << "of another target";
}

TEST_F(EmitCases, conflicts_need_a_persons_word) {
  EXPECT_TRUE(is_conflict({.kind = ChangeKind::edited}));
  EXPECT_TRUE(is_conflict({.kind = ChangeKind::foreign}));
  for (const ChangeKind kind : {ChangeKind::create, ChangeKind::update, ChangeKind::remove}) {
    EXPECT_FALSE(is_conflict({.kind = kind}));
  }
  // All in the way, nothing left to do: the manifest is as it was.
  disk = {{"a", {"mine", false}}};
  const emit::Manifest before = {entry_of("t", "a", "old", "d0")};
  const EmitPlan kept = keeping_conflicts(planned({{"a", "new"}}, before).value(), before);
  EXPECT_TRUE(kept.changes.empty());
  EXPECT_EQ(kept.manifest, before);
  EXPECT_FALSE(kept.manifest_changes);
  EXPECT_TRUE(kept.empty());
}

TEST_F(EmitCases, while_it_is_written_old_and_new_are_ours) {
  const emit::Manifest before = {entry_of("t", "b", "old b", "d0"), entry_of("t", "c", "c", "d0")};
  const emit::Manifest after = {entry_of("t", "a", "a", "d1"), entry_of("t", "b", "new b", "d1"),
                                entry_of("t", "c", "c", "d1")};
  EXPECT_EQ(manifest_between(before, after),
            (emit::Manifest{after[0], before[0], after[1], before[1]}));
  EXPECT_EQ(manifest_between({}, after), after);
  EXPECT_EQ(manifest_between(before, {}), before);
}

TEST_F(EmitCases, differences_stand_below_one_another) {
  const EmitPlan plan{.changes = {{ChangeKind::create, {"a", "new\n"}, ""},
                                  {ChangeKind::update, {"b", "2\n"}, "1\n"},
                                  {ChangeKind::remove, {.path = "c"}, "gone\n"},
                                  {ChangeKind::edited, {"d", "4\n"}, "3\n"}}};
  EXPECT_EQ(diff_of(plan),
            "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new\n"
            "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n"
            "--- a/c\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
            "--- a/d\n+++ b/d\n@@ -1 +1 @@\n-3\n+4\n");
}

class EmitFolderWords : public testing::Test {
 protected:
  EmitFolderWords() : folder(std::move(EmitFolder::open(dir.at("out"), true).value())) {}
  template <class T>
  static std::string said(const Result<T>& result) {
    return result ? "good" : to_text(result.error());
  }
  std::string at(const std::string& below) const { return dir.at("out/" + below); }
  std::string rights(const std::string& below) const {
    struct stat s = {};
    ::stat(at(below).c_str(), &s);
    char text[8];
    std::snprintf(text, sizeof text, "%o", s.st_mode & 0777U);
    return text;
  }
  agent::TestFolder dir;
  std::unique_ptr<EmitFolder> folder;
};

const std::string kInTheWay =
    "    why: a link or a file stands where a folder or a plain file belongs\n"
    "    fix: remove it, or emit into another folder\n";

TEST_F(EmitFolderWords, of_what_is_in_the_way) {
  dir.write("out/file", "x");
  fs::create_symlink("file", at("link"));
  fs::create_directories(at("folder/below"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_EQ(said(folder->read("link")),
            at("link") + ": error: cannot open: Too many levels of symbolic links [emit.link]\n" +
                kInTheWay);
  EXPECT_EQ(said(folder->read("file/x")),
            at("file/x") + ": error: cannot open: Not a directory [emit.link]\n" + kInTheWay);
  EXPECT_EQ(said(folder->read("pipe")),
            at("pipe") + ": error: cannot read: Not a directory [emit.link]\n" + kInTheWay);
  EXPECT_EQ(said(folder->read("folder")),
            at("folder") + ": error: cannot read: Not a directory [emit.link]\n" + kInTheWay);
  EXPECT_EQ(said(folder->write({"file/x", "y"})),
            at("file/x") + ": error: cannot make the folder of: Not a directory [emit.link]\n" +
                kInTheWay);
  EXPECT_EQ(said(folder->write({"file/x/y", "z"})),
            at("file/x/y") + ": error: cannot make the folder of: Not a directory [emit.link]\n" +
                kInTheWay);
  EXPECT_EQ(said(folder->write({"folder", "y"})),
            at("folder") + ": error: cannot write: Is a directory [emit.file]\n");
  EXPECT_EQ(said(folder->remove("folder")),
            at("folder") + ": error: cannot remove: Is a directory [emit.file]\n");
  EXPECT_EQ(said(folder->remove("no/such")),
            at("no/such") + ": error: cannot remove: No such file or directory [emit.file]\n");
}

TEST_F(EmitFolderWords, of_paths_that_lead_out_of_it) {
  const std::string why =
      "    why: an emitted file stays inside the folder that was named\n"
      "    fix: if it stands in the manifest, restore or remove the manifest\n";
  for (const std::string& path :
       {std::string("../x"), std::string("a/./b"), std::string("a/.."), std::string("a//b"),
        std::string("/a"), std::string("a/"), std::string()}) {
    const std::string wanted =
        dir.at("out") + ": error: `" + path + "` is no path below the folder [emit.path]\n" + why;
    EXPECT_EQ(said(folder->read(path)), wanted);
    EXPECT_EQ(said(folder->write({path, "x"})), wanted);
    EXPECT_EQ(said(folder->remove(path)), wanted);
  }
  EXPECT_EQ(folder->write({std::string("a\0b", 3), "x"}).error().front().code, "emit.path");
  EXPECT_EQ(said(folder->write({"..a/.b", "x"})), "good") << "names may have dots";
}

TEST_F(EmitFolderWords, of_folders_that_cannot_be) {
  dir.write("file", "x");
  EXPECT_EQ(said(EmitFolder::open(dir.at("file"), false)),
            dir.at("file") + ": error: cannot open the folder: Not a directory [emit.link]\n" +
                kInTheWay);
  EXPECT_EQ(
      said(EmitFolder::open("/dev/null/x", true)),
      "/dev/null/x: error: cannot make the folder: Not a directory [emit.link]\n" + kInTheWay);
  EXPECT_EQ(said(EmitFolder::open(dir.at("out"), false)),
            dir.at("out") +
                ": error: another emit is at work in this folder [emit.busy]\n"
                "    fix: run it again when that one has ended\n");
  const auto missing = EmitFolder::open(dir.at("missing"), false);
  ASSERT_TRUE(missing);
  EXPECT_FALSE(fs::exists(dir.at("missing")));
}

TEST_F(EmitFolderWords, files_have_their_rights_and_leave_no_folder_empty) {
  const mode_t before = ::umask(077);
  EXPECT_EQ(said(folder->write({"a/b/run.sh", "x", true})), "good");
  EXPECT_EQ(said(folder->write({"a/conf", "y"})), "good");
  ::umask(before);
  EXPECT_EQ(rights("a/b/run.sh"), "755") << "whatever the mask is";
  EXPECT_EQ(rights("a/conf"), "644");
  EXPECT_EQ(said(folder->write({"a/conf", std::string(200'000, 'z'), true})), "good");
  EXPECT_EQ(rights("a/conf"), "755");
  EXPECT_EQ(folder->read("a/conf").value()->text, std::string(200'000, 'z'));
  EXPECT_EQ(said(folder->remove("a/b/run.sh")), "good");
  EXPECT_FALSE(fs::exists(at("a/b")));
  EXPECT_TRUE(fs::exists(at("a/conf")));
  EXPECT_EQ(said(folder->remove("a/conf")), "good");
  EXPECT_FALSE(fs::exists(at("a")));
  EXPECT_TRUE(fs::exists(dir.at("out")));
}

// 16 MiB of one file and no more.
TEST_F(EmitFolderWords, a_file_that_is_too_long_is_not_read) {
  dir.write("out/most", "");
  fs::resize_file(at("most"), kFileBytesMax);
  EXPECT_EQ(folder->read("most").value()->text.size(), kFileBytesMax);
  fs::resize_file(at("most"), kFileBytesMax + 1);
  EXPECT_EQ(said(folder->read("most")),
            at("most") + ": error: cannot read: File too large [emit.file]\n");
}

class EmitVerbWords : public testing::Test {
 protected:
  VerbAnswer emit(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"emit", "prometheus", dir.at("d.yaml"), dir.at("out")};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words);
  }
  void count(int nodes) const {
    dir.write("d.yaml",
              "orrery: 1\nname: one\nsite: { region: usa }\nfleet: [{ name: n, node: dgx-h100, "
              "count: " +
                  std::to_string(nodes) + " }]\n");
  }
  static std::string all_new(const std::string& list) {
    std::string other = list;
    for (std::size_t at = other.find("     new  "); at != other.npos;
         at = other.find("     new  ", at + 1)) {
      other.replace(at, 10, "");
    }
    return other;
  }
  agent::TestFolder dir;
};

TEST_F(EmitVerbWords, a_list_of_what_was_written_and_how_many) {
  count(2);
  const VerbAnswer dry = emit({"--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("--- /dev/null\n+++ b/prometheus.yml\n@@ -0,0 +1,"));
  EXPECT_THAT(dry.err, testing::EndsWith("dry run: nothing was written\n"));
  const VerbAnswer first = emit();
  EXPECT_EQ(first.err, "wrote 14 files in " + dir.at("out") + "\n");
  EXPECT_THAT(all_new(first.out), testing::StartsWith("dcgm_counters.csv\nprometheus.yml\nrules/"));
  EXPECT_EQ(first.out + "dry run: nothing was written\n", dry.err);
  const VerbAnswer again = emit();
  EXPECT_EQ(again.err, "nothing to change\n");
  EXPECT_EQ(again.out, "");
  EXPECT_EQ(again.code, ExitCode::good);
}

TEST_F(EmitVerbWords, of_one_file_that_was_edited) {
  count(2);
  emit();
  const std::string file = dir.at("out/dcgm_counters.csv");
  const std::string text = read_text_file(file).value_or("");
  dir.write("out/dcgm_counters.csv", text + "mine\n");
  const std::string edited = file +
                             ": error: edited by hand since it was emitted [emit.edited]\n"
                             "    why: it may hold your work; nothing was written\n"
                             "    fix: --keep leaves it and writes the rest, --force replaces it\n";
  const VerbAnswer refused = emit();
  EXPECT_EQ(refused.code, ExitCode::fails_rule);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err, edited);
  const VerbAnswer kept = emit({"--keep"});
  EXPECT_EQ(kept.err, "    kept  " + file + ": edited by hand since it was emitted\n" +
                          "nothing to change\n");
  EXPECT_EQ(kept.code, ExitCode::good);
  const VerbAnswer forced = emit({"--force", "--diff"});
  EXPECT_EQ(forced.err, " changed  dcgm_counters.csv\nwrote 1 file in " + dir.at("out") + "\n");
  EXPECT_THAT(forced.out, testing::AllOf(testing::StartsWith("--- a/dcgm_counters.csv\n"),
                                         testing::EndsWith("\n-mine\n")));
  EXPECT_EQ(read_text_file(file).value_or(""), text);
  dir.write("out/runbook.md", "");
  fs::remove(dir.at("out/.orrery-emit.json"));
  EXPECT_THAT(emit().err,
              testing::EndsWith("runbook.md: error: there is a file that was not emitted "
                                "[emit.foreign]\n"
                                "    why: it may hold your work; nothing was written\n"
                                "    fix: --keep leaves it and writes the rest, --force replaces "
                                "it\n"));
}

TEST_F(EmitVerbWords, what_changed_and_what_went_is_listed) {
  count(2);
  emit();
  dir.write("d.yaml",
            "orrery: 1\nname: one\nsite: { region: usa }\nfleet: [{ name: m, node: dgx-h100, "
            "count: 2 }]\n");
  const VerbAnswer other = emit();
  EXPECT_EQ(other.code, ExitCode::good) << other.err;
  EXPECT_THAT(other.out, testing::AllOf(HasSubstr(" removed  targets/node-n.yml\n"),
                                        HasSubstr("     new  targets/node-m.yml\n"),
                                        HasSubstr(" changed  prometheus.yml\n")));
  EXPECT_FALSE(fs::exists(dir.at("out/targets/node-n.yml")));
  EXPECT_TRUE(fs::exists(dir.at("out/targets/node-m.yml")));
}

}  // namespace
}  // namespace orrery::cli
