#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "app/cli/verb_fixture.h"
#include "core/base/digest.h"
#include "live/agent/test_folder.h"
#include "output/emit/emit_folder.h"
#include "output/emit/emit_plan.h"
#include "output/emit/unified_diff.h"

namespace orrery::cli {
namespace {

using emit::Change;
using emit::ChangeKind;
using emit::EmitFolder;
using emit::FileOnDisk;
using emit::manifest_between;
using emit::plan_emit;
using emit::unified_diff;

namespace fs = std::filesystem;
using EmitVerb = VerbTest;
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
    const ExitCode code = run_command_line(all_verbs(), words, terminal);
    return {code, text.str(), talk.str()};
  }

  // Returns the time and size of every file, to detect changes.
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

TEST_F(Emit, a_second_emit_has_nothing_to_do) {
  const VerbAnswer dry = emit({"--dry-run"});
  EXPECT_EQ(dry.code, ExitCode::good);
  EXPECT_THAT(dry.out, AllOf(HasSubstr("--- /dev/null\n+++ b/slurm.conf\n"),
                             HasSubstr("+ClusterName=small\n")));
  EXPECT_FALSE(fs::exists(at("out")));
  const VerbAnswer first = emit();
  EXPECT_EQ(first.code, ExitCode::good);
  EXPECT_THAT(first.out, HasSubstr("     new  slurm.conf\n"));
  EXPECT_LT(first.out.size(), 1500u);  // a list, not the contents of the files
  EXPECT_THAT(get(out("slurm.conf")), HasSubstr("ClusterName=small"));
  EXPECT_NE(fs::status(out("prolog.sh")).permissions() & fs::perms::owner_exec, fs::perms::none);
  const std::string before = state();
  const VerbAnswer again = emit();
  EXPECT_EQ(again.code, ExitCode::good);
  EXPECT_EQ(again.out, "");
  EXPECT_THAT(again.err, HasSubstr("nothing to change"));
  EXPECT_EQ(state(), before);
}

TEST_F(Emit, hand_edits_are_found_and_kept) {
  emit();
  const std::string edited = get(out("site.conf")) + "MessageTimeout=20\n";
  put(out("site.conf"), edited);
  std::string larger(kDesign);
  design(larger.replace(larger.find("count: 4"), 8, "count: 5"));
  const VerbAnswer refused = emit();
  EXPECT_EQ(refused.code, ExitCode::fails_rule);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("site.conf: error: "), HasSubstr("--keep")));
  EXPECT_THAT(get(out("nodes.conf")), HasSubstr("n-[1-4]"));
  const VerbAnswer kept = emit({"--keep"});
  EXPECT_EQ(kept.code, ExitCode::good);
  EXPECT_EQ(get(out("site.conf")), edited);
  EXPECT_THAT(get(out("nodes.conf")), HasSubstr("n-[1-5]"));
  // The file still counts as edited in this and every later run.
  EXPECT_EQ(emit().code, ExitCode::fails_rule);
  EXPECT_EQ(emit({"--force"}).code, ExitCode::good);
  EXPECT_THAT(get(out("site.conf")), Not(HasSubstr("MessageTimeout")));
  EXPECT_EQ(emit({"--force", "--keep"}).code, ExitCode::bad_input);
}

TEST_F(Emit, foreign_files_are_not_replaced) {
  fs::create_directories(at("out"));
  put(out("slurm.conf"), "ClusterName=precious\n");
  const VerbAnswer refused = emit();
  EXPECT_EQ(refused.code, ExitCode::fails_rule);
  EXPECT_THAT(refused.err, HasSubstr("emit.foreign"));
  EXPECT_EQ(get(out("slurm.conf")), "ClusterName=precious\n");
  EXPECT_FALSE(fs::exists(out("nodes.conf")));
}

TEST_F(Emit, obsolete_files_are_removed_unless_edited) {
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

TEST_F(Emit, two_targets_share_a_folder) {
  emit();
  EXPECT_EQ(emit({}, "prometheus").code, ExitCode::good);
  EXPECT_TRUE(fs::exists(out("slurm.conf")));
  EXPECT_THAT(emit().err, HasSubstr("nothing to change"));
  EXPECT_THAT(emit({}, "prometheus").err, HasSubstr("nothing to change"));
}

TEST_F(Emit, links_are_not_followed) {
  fs::create_directories(at("out"));
  put(at("victim"), "untouched\n");
  fs::create_symlink(at("victim"), out("slurm.conf"));
  const VerbAnswer refused = emit({"--force"});
  EXPECT_EQ(refused.code, ExitCode::bad_input);
  EXPECT_THAT(refused.err, HasSubstr("emit.link"));
  EXPECT_EQ(get(at("victim")), "untouched\n");
  EXPECT_FALSE(fs::exists(out("nodes.conf")));
}

TEST_F(Emit, a_manifest_with_an_outside_path_is_refused) {
  emit();
  put(at("victim"), "untouched\n");
  const emit::Manifest planted = {{"slurm", "../victim", sha256_hex("untouched\n"), "d"}};
  put(out(std::string(emit::kManifestFile)), write_manifest(planted));
  const VerbAnswer refused = emit({"--force"});
  EXPECT_EQ(refused.code, ExitCode::bad_input);
  EXPECT_THAT(refused.err, HasSubstr("emit.path"));
  EXPECT_EQ(get(at("victim")), "untouched\n");
}

TEST_F(Emit, a_broken_manifest_is_refused) {
  emit();
  put(out(std::string(emit::kManifestFile)), "{");
  EXPECT_EQ(emit().code, ExitCode::bad_input);
}

TEST_F(Emit, design_errors_are_diagnostics) {
  std::string bad(kDesign);
  design(bad.replace(bad.find("name: n,"), 8, "name: \"n\\nX=1\","));
  const VerbAnswer refused = emit();
  EXPECT_EQ(refused.code, ExitCode::bad_input);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("emit.name"), HasSubstr("d.yaml:5")));
  EXPECT_FALSE(fs::exists(at("out")));
}

TEST_F(EmitVerb, a_slurm_trial_uses_the_output_folder) {
  const std::string design = put("d.yaml", kPlainDesign);
  const VerbAnswer a = spoken({"emit", "slurm", design, folder.at("x/../out"), "--trial",
                               folder.at("state"), "--trial-port", "7001"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator(folder.at("out"))) {
    if (file.is_regular_file()) all += read_text_file(file.path().string()).value_or("");
  }
  EXPECT_THAT(all, AllOf(HasSubstr(folder.at("state")), HasSubstr("SlurmctldPort=7001\n")));
  EXPECT_THAT(all, HasSubstr(folder.at("out") + "/"));
  EXPECT_THAT(all, Not(HasSubstr("x/../out")));
}

TEST_F(EmitVerb, a_folder_is_locked_and_files_keep_their_mode) {
  const auto first = EmitFolder::open(folder.at("out"), true);
  ASSERT_TRUE(first);
  const auto second = EmitFolder::open(folder.at("out"), true);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().code, "emit.busy");
  ASSERT_TRUE((*first)->write({.path = "a/run.sh", .text = "x", .executable = true}));
  ASSERT_TRUE((*first)->write({.path = "a/conf", .text = "y"}));
  EXPECT_TRUE((**(*first)->read("a/run.sh")).executable);
  EXPECT_FALSE((**(*first)->read("a/conf")).executable);
  for (const char* path : {"../x", "a/../../x", "", "/x", "a//b", "."}) {
    const auto r = (*first)->write({.path = path, .text = "z"});
    ASSERT_FALSE(r) << path;
    EXPECT_EQ(r.error().front().code, "emit.path") << path;
  }
  const auto folder_there = (*first)->read("a");
  EXPECT_FALSE(folder_there);
  std::filesystem::create_symlink("conf", folder.at("out/a/link"));
  const auto link = (*first)->read("a/link");
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().front().code, "emit.link");
}

}  // namespace
}  // namespace orrery::cli
