// Figures that verbs print of networks that can be counted by hand, and what scripts learn of the
// verbs themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cli/keep_words.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/store_design.h"
#include "core/base/digest.h"
#include "live/agent/test_folder.h"
#include "output/emit/emit_folder.h"
#include "output/emit/emit_plan.h"

namespace orrery::cli {
namespace {

using emit::ChangeKind;
using emit::EmitFolder;
using emit::EmitPlan;
using emit::FileOnDisk;
using emit::keeping_conflicts;
using emit::plan_emit;

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::json;

Json fabric_json(std::vector<std::string> words) {
  words.insert(words.begin(), "fabric");
  words.insert(words.end(), {"--format", "json"});
  const VerbAnswer a = spoken(words);
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  return Json::parse(a.out, nullptr, false);
}

// Four nodes of two NICs below one switch: 4 x 50 GB/s across the middle; 747 W and twelve
// transceivers of 15.5 W.
TEST(FabricFigures, a_bill_of_one_switch) {
  const Json bill = fabric_json({"bill", "--nodes", "4", "--nics", "2"});
  const std::pair<const char*, double> numbers[] = {{"schema_version", 1},
                                                    {"tiers", 1},
                                                    {"endpoints", 8},
                                                    {"leaf", 1},
                                                    {"spine", 0},
                                                    {"core", 0},
                                                    {"node_leaf_cables", 8},
                                                    {"manager_cables", 4},
                                                    {"leaf_spine_cables", 0},
                                                    {"spine_core_cables", 0},
                                                    {"diameter_links", 2},
                                                    {"bisection_bytes_per_s", 2e11},
                                                    {"bisection_share", 1},
                                                    {"power_w", 747 + 12 * 15.5}};
  for (const auto& [name, value] : numbers) EXPECT_EQ(bill[name], value) << name;
  EXPECT_EQ(bill["topology"], "rail-fat-tree");
  EXPECT_LT(bill["price_low_usd"].get<double>(), bill["price_high_usd"].get<double>());
  double watts = 0;
  for (const Json& line : bill["lines"]) {
    watts += line["count"].get<double>() * line["unit_power_w"].get<double>();
  }
  EXPECT_DOUBLE_EQ(watts, 747 + 12 * 15.5);
  EXPECT_EQ(bill["lines"][0], Json::parse(R"({"item":"leaf switch","part":"qm9700","count":1,
      "unit_power_w":747,"reference":"switches/qm9700"})"));
  const VerbAnswer text = spoken({"fabric", "bill", "--nodes", "4", "--nics", "2"});
  EXPECT_THAT(text.out, HasSubstr("1 tiers, 1 leaves, 0 spines, 0 cores; 2 links across at most; "
                                  "bisection 200 GB/s (100 % of full);\n933 W and "));
  EXPECT_THAT(text.out, HasSubstr("\n  cable node-leaf             mpo-trunk       8       0\n"));
}

// Each option moves what it is named after.
TEST(FabricFigures, options_describe_the_network) {
  const std::vector<std::string> eight = {"bill", "--nodes", "4", "--nics", "2"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = eight;
    words.insert(words.end(), more.begin(), more.end());
    return fabric_json(words);
  };
  EXPECT_EQ(with({"--rate", "200 Gb/s"})["bisection_bytes_per_s"], 1e11);
  EXPECT_EQ(with({"--planes", "2"})["leaf"], 2);
  EXPECT_EQ(with({"--radix", "4"})["tiers"], 2);
  const Json torus = fabric_json(
      {"bill", "--topology", "torus", "--torus", "4x4", "--nodes", "16", "--nics", "1"});
  // A ring of four is cut twice, four times over: 8 x 50 GB/s. Two steps each way at most.
  EXPECT_EQ(torus["bisection_bytes_per_s"], 4e11);
  EXPECT_EQ(torus["diameter_links"], 4);
  EXPECT_EQ(torus["endpoints"], 16);
  const Json thin = fabric_json({"bill", "--nodes", "127", "--oversubscription", "2"});
  const Json full = fabric_json({"bill", "--nodes", "127"});
  EXPECT_LT(thin["leaf_spine_cables"].get<int>(), full["leaf_spine_cables"].get<int>());
  EXPECT_NEAR(thin["bisection_share"].get<double>(), 0.5, 0.05);
}

TEST(FabricFigures, a_path_and_its_latency) {
  const Json path =
      fabric_json({"path", "--nodes", "4", "--nics", "2", "--from", "0", "--to", "7"});
  EXPECT_THAT(path["links"].get<std::vector<std::string>>(),
              ElementsAre("node 0 rail 0 -> leaf 0", "leaf 0 -> node 3 rail 1"));
  EXPECT_NEAR(path["latency_s"].get<double>(), 3e-7, 1e-12);
  EXPECT_THAT(
      spoken({"fabric", "path", "--nodes", "4", "--nics", "2", "--from", "0", "--to", "6"}).out,
      EndsWith("  - leaf 0 -> node 3 rail 0\n2 links, 300 ns of latency, static routing.\n"));
}

// Without a leaf its 64 rails have no other way; without one of its links to a spine they have.
TEST(FabricFigures, what_a_loss_costs) {
  const Json leaf = fabric_json({"what-if", "--nodes", "64", "--lose", "leaf", "--number", "3"});
  EXPECT_EQ(leaf["lost"], "leaf 3");
  EXPECT_EQ(leaf["cut"], 64);
  EXPECT_EQ(leaf["slowed"], 0);
  EXPECT_EQ(leaf["share"], 0);
  EXPECT_NEAR(leaf["before_s"].get<double>(), 100e6 / 50e9, 1e-5);
  EXPECT_THAT(spoken({"fabric", "what-if", "--nodes", "64", "--lose", "leaf", "--number", "3"}).out,
              HasSubstr("64 messages have no way left: the job stops."));
  // 31 of 32 links of the leaf are left: 31/32 = 96.9 %.
  const std::vector<std::string> words = {"what-if", "--nodes", "64", "--routing", "adaptive"};
  const Json link = fabric_json(words);
  EXPECT_EQ(link["lost"], "leaf 0 - spine 0");
  EXPECT_EQ(link["cut"], 0);
  EXPECT_NEAR(link["closed_form_share"].get<double>(), 31 / 32.0, 1e-9);
  EXPECT_NEAR(link["after_s"].get<double>() * link["share"].get<double>(),
              link["before_s"].get<double>(), 1e-9);
  EXPECT_THAT(spoken({"fabric", "what-if", "--nodes", "64", "--routing", "adaptive"}).out,
              HasSubstr(" (96.9 % by the closed form)."));
  EXPECT_THAT(
      spoken({"fabric", "what-if", "--nodes", "64", "--lose", "spine", "--routing", "ecmp"}).out,
      AllOf(HasSubstr(". Hashing decides it: 5 flows meet on the worst link before, 5 after."),
            HasSubstr("because others collide elsewhere just as badly.")));
  EXPECT_EQ(spoken({"fabric", "what-if", "--number", "-1"}).code, ExitCode::bad_input);
  EXPECT_EQ(spoken({"fabric", "what-if", "--number", "100000001"}).code, ExitCode::bad_input);
}

TEST(FabricFigures, counts_of_a_comparison_and_a_storm_keep_to_their_bounds) {
  for (const char* option : {"--leaves", "--hosts", "--spines", "--queue-pairs"}) {
    EXPECT_EQ(spoken({"fabric", "compare", option, "0"}).code, ExitCode::bad_input) << option;
    EXPECT_EQ(spoken({"fabric", "compare", option, "257"}).code, ExitCode::bad_input) << option;
  }
  const VerbAnswer small = spoken({"fabric", "compare", "--leaves", "1", "--hosts", "1", "--spines",
                                   "1", "--queue-pairs", "1"});
  EXPECT_EQ(small.code, ExitCode::good);
  EXPECT_THAT(small.out, HasSubstr("RoCE, 1 queue pairs"));
  EXPECT_EQ(spoken({"fabric", "storm", "--partners", "257"}).code, ExitCode::bad_input);
  const VerbAnswer storm =
      spoken({"fabric", "storm", "--nodes", "16", "--switch", "sn5600", "--partners", "4"});
  // Four of the fifteen others send there.
  EXPECT_THAT(storm.out, AllOf(HasSubstr("Of 16 nodes that send to 4 others each, 26.7 % are"),
                               HasSubstr("No watchdog: it lasts until somebody shuts the port.")));
}

const VerbShape& shape_named(const std::vector<VerbShape>& all, const std::string& path) {
  static const VerbShape kNone;
  const auto found = std::ranges::find_if(
      all, [&path](const VerbShape& s) { return joined(s.path, " ") == path; });
  EXPECT_NE(found, all.end()) << path;
  return found == all.end() ? kNone : *found;
}

TEST(VerbShapes, tell_options_choices_and_words) {
  const std::vector<VerbShape> all = shapes_of(all_verbs());
  EXPECT_TRUE(all.front().path.empty());
  EXPECT_THAT(all.front().verbs, testing::Contains("plan"));
  const VerbShape& score = shape_named(all, "score");
  EXPECT_THAT(score.choices, testing::Contains("training"));
  ASSERT_EQ(score.words.size(), 2U);
  EXPECT_EQ(score.words[0].name, "KIND");
  EXPECT_EQ(score.words[1].name, "FILE");
  EXPECT_TRUE(score.words[1].is_required);
  EXPECT_THAT(score.verbs, IsEmpty());
  const VerbShape& simulate = shape_named(all, "simulate");
  ASSERT_EQ(simulate.words.size(), 1U);
  EXPECT_FALSE(simulate.words[0].is_required);
  EXPECT_THAT(simulate.examples, testing::Contains("orrery simulate my.yaml"));
  const auto option = [](const VerbShape& s, const char* name) {
    const auto found = std::ranges::find(s.options, name, &VerbShape::Option::name);
    EXPECT_NE(found, s.options.end()) << name;
    return found == s.options.end() ? VerbShape::Option{} : *found;
  };
  EXPECT_TRUE(option(simulate, "--seed").takes_value);
  EXPECT_FALSE(option(simulate, "--rewind").takes_value);
  EXPECT_THAT(option(simulate, "--format").choices,
              ElementsAre("text", "json", "markdown", "html"));
  EXPECT_THAT(option(simulate, "--seed").choices, IsEmpty());
  EXPECT_EQ(option(shape_named(all, "emit slurm"), "--object-store").help,
            "address of an S3 that runs already, `orrery store` for one: object tiers are mounted "
            "from it");
  EXPECT_TRUE(VerbShape::Option{}.takes_value);
  EXPECT_TRUE(VerbShape::Word{}.is_required);
}

TEST(VerbShapes, completions_know_what_takes_a_value) {
  const std::string fish = spoken({"completion", "fish"}).out;
  EXPECT_THAT(fish, HasSubstr(" -l seed -d 'seed of the random streams' -r\n"));
  EXPECT_THAT(fish, HasSubstr(" -l brief -d 'the verdict, the goals and what is broken, without "
                              "the layers'\n"));
  EXPECT_THAT(fish, HasSubstr("complete -c orrery -n '__fish_use_subcommand' -a plan\n"));
  EXPECT_THAT(fish, HasSubstr("'__fish_seen_subcommand_from emit; and "
                              "__fish_seen_subcommand_from slurm'"));
  const std::string bash = spoken({"completion", "bash"}).out;
  EXPECT_THAT(bash,
              AllOf(HasSubstr("    'plan':--format) words='text json markdown html csv' ;;\n"),
                    Not(HasSubstr("'plan':--brief)")), HasSubstr("'emit/slurm':*) words=")));
  EXPECT_EQ(spoken({"completion", "zsh"}).out,
            "autoload -U +X bashcompinit && bashcompinit\n" + bash);
}

TEST(VerbShapes, manual_pages_have_verbs_words_and_options) {
  const agent::TestFolder folder;
  const VerbAnswer a = spoken({"man", folder.at("man")});
  EXPECT_EQ(a.err, "wrote " + std::to_string(shapes_of(all_verbs()).size()) + " pages in " +
                       folder.at("man") + "\n");
  const auto page = [&](const std::string& name) {
    return read_text_file(folder.at("man/" + name + ".1")).value_or("");
  };
  EXPECT_THAT(page("orrery-emit"),
              AllOf(HasSubstr(".TH ORRERY\\-EMIT 1 "), HasSubstr(".B orrery emit\n.I VERB\n"),
                    HasSubstr(".SH VERBS\n.TP\n.BR orrery\\-emit\\-slurm (1)\n"),
                    Not(HasSubstr("orrery\\-plan (1)")), HasSubstr(".SH SEE ALSO\n")));
  EXPECT_THAT(page("orrery-plan"),
              AllOf(HasSubstr("\n.I FILE\n.RI [ options ]\n"),
                    HasSubstr(".B \\-\\-format text|json|markdown|html|csv\n"),
                    HasSubstr(".SH EXAMPLES\n.nf\norrery plan my.yaml\n"), HasSubstr(".fi\n")));
  EXPECT_THAT(page("orrery-simulate"), HasSubstr("\n.I [DESIGN]\n"));
  EXPECT_THAT(page("orrery"), Not(HasSubstr("SEE ALSO")));
  EXPECT_EQ(spoken({"man", "/dev/null/x"}).code, ExitCode::bad_input);
}

// An edited file that is kept keeps the entry it had, so that it is known as edited ever after.
TEST(EmitPlanKept, conflicts_keep_their_entries) {
  const auto entry = [](const char* path, const char* text) {
    return emit::ManifestEntry{"t", path, sha256_hex(text), "d0"};
  };
  const emit::Manifest before = {entry("a", "old a"), entry("b", "old b")};
  const emit::EmittedFiles files = {{"a", "new a"}, {"b", "new b"}, {"c", "new c"}};
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
  EXPECT_EQ(kept.manifest, (emit::Manifest{before[0], {"t", "b", sha256_hex("new b"), "d1"}}));
  EXPECT_TRUE(kept.manifest_changes);
}

TEST(EmitFolderEdges, a_file_where_a_folder_belongs_is_said) {
  const agent::TestFolder dir;
  dir.write("out/a", "a file");
  const auto folder = EmitFolder::open(dir.at("out"), true);
  ASSERT_TRUE(folder);
  const auto below = (*folder)->write({.path = "a/b", .text = "x"});
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().front().code, "emit.link");
  EXPECT_EQ((*folder)->read("none").value(), std::nullopt);
  EXPECT_EQ((*folder)->read("none/below").value(), std::nullopt);
  EXPECT_TRUE((*folder)->remove("none")) << "what is not there is gone";
  EXPECT_FALSE((*folder)->remove("none/below"));
  // Over a folder nothing can be written, and nothing of the attempt is left.
  ASSERT_TRUE((*folder)->write({.path = "full/x", .text = "x"}));
  EXPECT_FALSE((*folder)->write({.path = "full", .text = "y"}));
  EXPECT_FALSE(std::filesystem::exists(dir.at("out/.orrery-tmp-full")));
  const auto dry = EmitFolder::open(dir.at("missing"), false);
  ASSERT_TRUE(dry);
  EXPECT_EQ((*dry)->read("a").value(), std::nullopt);
  EXPECT_FALSE(EmitFolder::open("/dev/null/x", true));
  EXPECT_FALSE(EmitFolder::open(dir.at("out/a"), false)) << "a file is no folder";
}

TEST(KeepWordsEdges, hours_may_begin_and_end_a_day) {
  storage::KeepPlace place;
  EXPECT_TRUE(read_keep_word("hours=0-24", place));
  EXPECT_EQ(place.opens, Seconds());
  EXPECT_EQ(place.closes, hours(24));
  EXPECT_TRUE(read_keep_word("newest=0", place));
  EXPECT_TRUE(read_keep_word("newest=999999", place));
  EXPECT_EQ(place.keep.newest, 999'999);
  EXPECT_TRUE(read_keep_word("milestones", place));
  EXPECT_TRUE(place.keep.milestones);
  EXPECT_TRUE(read_keep_word("every=1", place));
  EXPECT_EQ(place.keep.milestone_every, 1);
  EXPECT_FALSE(read_keep_word("hours=1-2-3", place));
}

TEST(StoreDesignEdges, nothing_is_enciphered_unless_a_tier_is) {
  EXPECT_FALSE(store_of_design({})->enciphered);
  design::Design design;
  design.storage.push_back({.tier = design::Tier::hot});
  EXPECT_FALSE(store_of_design(design)->enciphered);
}

}  // namespace
}  // namespace orrery::cli
