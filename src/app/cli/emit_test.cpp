// `orrery emit` as a person meets it: the diff, what is kept, what is written and when nothing is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"
#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/agent/test_folder.h"
#include "output/emit/emit_folder.h"
#include "output/emit/emit_plan.h"
#include "output/emit/unified_diff.h"

namespace orrery::cli {

Verb emit_verb();

namespace {

using emit::Change;
using emit::ChangeKind;
using emit::EmitFolder;
using emit::FileOnDisk;
using emit::manifest_between;
using emit::plan_emit;
using emit::unified_diff;

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kDesign = R"(
orrery: 1
name: small
site: { region: gcp-us-east4 }
fleet: [{ name: n, node: dgx-h100, count: 4 }]
scheduler:
  kind: slurm
  quotas: [{ tenant: vision, share: 0.5 }]
)";

class Emit : public testing::Test {
 protected:
  Emit() { design(std::string(kDesign)); }

  std::string at(const std::string& name) const { return folder_.at(name); }
  std::string out(const std::string& name = "") const { return at("out") + '/' + name; }
  void design(const std::string& text) const { put(at("d.yaml"), text); }
  static void put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string get(const std::string& path) { return read_text_file(path).value_or("none"); }

  VerbAnswer emit(std::vector<std::string> more = {}, const std::string& target = "slurm") const {
    std::vector<std::string> words = {"emit", target, at("d.yaml"), at("out")};
    words.insert(words.end(), more.begin(), more.end());
    std::ostringstream text;
    std::ostringstream talk;
    Terminal terminal{.out = text, .err = talk, .read_file = read_text_file};
    const ExitCode code = run_command_line({emit_verb()}, words, terminal);
    return {code, text.str(), talk.str()};
  }

  // Every file's time and size, to see whether anything was touched.
  std::string state() const {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(at("out"))) {
      struct stat s = {};
      ::stat(entry.path().c_str(), &s);
      all += entry.path().string() + ' ' + std::to_string(s.st_ino) + ' ' +
             std::to_string(s.st_mtim.tv_sec) + '.' + std::to_string(s.st_mtim.tv_nsec) + '\n';
    }
    return all;
  }

 private:
  agent::TestFolder folder_;
};

TEST_F(Emit, ShowsTheDiffWritesAndThenHasNothingToDo) {
  const VerbAnswer dry = emit({"--dry-run"});
  EXPECT_EQ(dry.code, ExitCode::good);
  EXPECT_THAT(dry.out, AllOf(HasSubstr("--- /dev/null\n+++ b/slurm.conf\n"),
                             HasSubstr("+ClusterName=small\n")));
  EXPECT_FALSE(fs::exists(at("out")));
  const VerbAnswer first = emit();
  EXPECT_EQ(first.code, ExitCode::good);
  EXPECT_THAT(first.out, HasSubstr("     new  slurm.conf\n"));
  EXPECT_LT(first.out.size(), 1500u);  // a list, not the files
  EXPECT_THAT(get(out("slurm.conf")), HasSubstr("ClusterName=small"));
  EXPECT_NE(fs::status(out("prolog.sh")).permissions() & fs::perms::owner_exec, fs::perms::none);
  const std::string before = state();
  const VerbAnswer again = emit();
  EXPECT_EQ(again.code, ExitCode::good);
  EXPECT_EQ(again.out, "");
  EXPECT_THAT(again.err, HasSubstr("nothing to change"));
  EXPECT_EQ(state(), before);
}

TEST_F(Emit, HandEditsAreFoundAndKept) {
  emit();
  const std::string edited = get(out("site.conf")) + "MessageTimeout=20\n";
  put(out("site.conf"), edited);
  std::string larger(kDesign);
  design(larger.replace(larger.find("count: 4"), 8, "count: 5"));
  const VerbAnswer refused = emit();
  EXPECT_EQ(refused.code, ExitCode::fails_rule);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("site.conf: error: edited by hand"), HasSubstr("--keep")));
  EXPECT_THAT(get(out("nodes.conf")), HasSubstr("n-[1-4]"));
  const VerbAnswer kept = emit({"--keep"});
  EXPECT_EQ(kept.code, ExitCode::good);
  EXPECT_EQ(get(out("site.conf")), edited);
  EXPECT_THAT(get(out("nodes.conf")), HasSubstr("n-[1-5]"));
  // Still known as edited, in this and every later run.
  EXPECT_EQ(emit().code, ExitCode::fails_rule);
  EXPECT_EQ(emit({"--force"}).code, ExitCode::good);
  EXPECT_THAT(get(out("site.conf")), Not(HasSubstr("MessageTimeout")));
  EXPECT_EQ(emit({"--force", "--keep"}).code, ExitCode::bad_input);
}

TEST_F(Emit, AFileThatWasNeverOursIsNotReplaced) {
  fs::create_directories(at("out"));
  put(out("slurm.conf"), "ClusterName=precious\n");
  const VerbAnswer refused = emit();
  EXPECT_EQ(refused.code, ExitCode::fails_rule);
  EXPECT_THAT(refused.err, HasSubstr("emit.foreign"));
  EXPECT_EQ(get(out("slurm.conf")), "ClusterName=precious\n");
  EXPECT_FALSE(fs::exists(out("nodes.conf")));
}

TEST_F(Emit, WhatIsNoLongerEmittedGoesUnlessItWasEdited) {
  emit();
  ASSERT_TRUE(fs::exists(out("accounting.sh")));
  std::string plain(kDesign);
  plain.resize(plain.find("  quotas"));
  design(plain);
  const VerbAnswer removed = emit({"--diff"});
  EXPECT_THAT(removed.out, HasSubstr("--- a/accounting.sh\n+++ /dev/null\n"));
  EXPECT_FALSE(fs::exists(out("accounting.sh")));
  design(std::string(kDesign));
  emit();
  put(out("accounting.sh"), "mine\n");
  design(plain);
  EXPECT_EQ(emit().code, ExitCode::good);
  EXPECT_EQ(get(out("accounting.sh")), "mine\n");
}

TEST_F(Emit, TwoTargetsShareAFolder) {
  emit();
  EXPECT_EQ(emit({}, "prometheus").code, ExitCode::good);
  EXPECT_TRUE(fs::exists(out("slurm.conf")));
  EXPECT_THAT(emit().err, HasSubstr("nothing to change"));
  EXPECT_THAT(emit({}, "prometheus").err, HasSubstr("nothing to change"));
}

TEST_F(Emit, LinksLeadNowhere) {
  fs::create_directories(at("out"));
  put(at("victim"), "untouched\n");
  fs::create_symlink(at("victim"), out("slurm.conf"));
  const VerbAnswer refused = emit({"--force"});
  EXPECT_EQ(refused.code, ExitCode::bad_input);
  EXPECT_THAT(refused.err, HasSubstr("emit.link"));
  EXPECT_EQ(get(at("victim")), "untouched\n");
  EXPECT_FALSE(fs::exists(out("nodes.conf")));
}

TEST_F(Emit, AManifestThatPointsElsewhereIsRefused) {
  emit();
  put(at("victim"), "untouched\n");
  const emit::Manifest planted = {{"slurm", "../victim", sha256_hex("untouched\n"), "d"}};
  put(out(std::string(emit::kManifestFile)), write_manifest(planted));
  const VerbAnswer refused = emit({"--force"});
  EXPECT_EQ(refused.code, ExitCode::bad_input);
  EXPECT_THAT(refused.err, HasSubstr("emit.path"));
  EXPECT_EQ(get(at("victim")), "untouched\n");
}

TEST_F(Emit, ABrokenManifestIsSaid) {
  emit();
  put(out(std::string(emit::kManifestFile)), "{");
  EXPECT_EQ(emit().code, ExitCode::bad_input);
}

TEST_F(Emit, FaultsOfTheDesignAreDiagnostics) {
  std::string bad(kDesign);
  design(bad.replace(bad.find("name: n,"), 8, "name: \"n\\nX=1\","));
  const VerbAnswer refused = emit();
  EXPECT_EQ(refused.code, ExitCode::bad_input);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("emit.name"), HasSubstr("d.yaml:5")));
  EXPECT_FALSE(fs::exists(at("out")));
}

// A run killed between two files: old and new ones lie side by side, and neither is a hand edit.
TEST(EmitPlan, AHalfWrittenFolderIsNoHandEdit) {
  const emit::EmittedFiles old_files = {{"a", "old a"}, {"b", "old b"}};
  const emit::EmittedFiles new_files = {{"a", "new a"}, {"b", "new b"}};
  const auto entry = [](const emit::EmittedFile& f) {
    return emit::ManifestEntry{"t", f.path, sha256_hex(f.text), "d"};
  };
  const emit::Manifest before = {entry(old_files[0]), entry(old_files[1])};
  const emit::Manifest after = {entry(new_files[0]), entry(new_files[1])};
  const auto round = emit::read_manifest(write_manifest(manifest_between(before, after)), "m");
  ASSERT_TRUE(round.has_value());
  const auto disk = [&](const std::string& path) -> Result<std::optional<FileOnDisk>> {
    return FileOnDisk{path == "a" ? "new a" : "old b"};
  };
  const emit::EmittedFiles third = {{"a", "third a"}, {"b", "third b"}};
  const auto plan = plan_emit({"t", "d", third}, *round, disk);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->changes.size(), 2U);
  for (const Change& c : plan->changes) EXPECT_EQ(c.kind, ChangeKind::update) << c.file.path;
  EXPECT_EQ(plan->manifest.size(), 2U);
}

TEST(EmitFolder, WritesOverWhatAKilledRunLeft) {
  const agent::TestFolder dir;
  dir.write(".orrery-tmp-a", "half");
  {
    const auto folder = EmitFolder::open(dir.path(), true);
    ASSERT_TRUE(folder.has_value());
    EXPECT_FALSE(EmitFolder::open(dir.path(), true).has_value()) << "two at once";
    ASSERT_TRUE((*folder)->write({"a", "whole", true}).has_value());
    EXPECT_EQ((*folder)->read("a").value()->text, "whole");
    EXPECT_TRUE((*folder)->read("a").value()->executable);
    for (const char* path : {"../x", "/x", "a/../../x", "", "a//b"}) {
      EXPECT_FALSE((*folder)->write({path, "x"}).has_value()) << path;
    }
    ASSERT_TRUE((*folder)->write({"sub/b", "x"}).has_value());
    ASSERT_TRUE((*folder)->remove("sub/b").has_value());
    EXPECT_FALSE(fs::exists(dir.at("sub")));
  }
  EXPECT_FALSE(fs::exists(dir.at(".orrery-tmp-a")));
}

TEST(UnifiedDiff, IsWhatDiffPrints) {
  const std::string before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
  const std::string after = "1\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n11\n12\n13\n";
  EXPECT_EQ(unified_diff({.path = "f", .before = before, .after = after}),
            "--- a/f\n+++ b/f\n"
            "@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n"
            "@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n");
  EXPECT_EQ(unified_diff({.path = "f", .before = before, .after = before}), "");
  EXPECT_EQ(unified_diff({.path = "f", .before = "", .after = "a\n", .is_new = true}),
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
}

TEST(UnifiedDiff, FarApartTextsAreReplaced) {
  std::string before;
  std::string after;
  for (int i = 0; i < 3000; ++i) {
    before += "a" + std::to_string(i) + '\n';
    after += "b" + std::to_string(i) + '\n';
  }
  const std::string diff = unified_diff({.path = "f", .before = before, .after = after});
  EXPECT_THAT(diff, HasSubstr("@@ -1,3000 +1,3000 @@\n-a0\n"));
}

}  // namespace
}  // namespace orrery::cli
