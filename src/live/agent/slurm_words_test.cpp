// What is said to Slurm and what is made of its refusals, word by word; and journals on disk as
// files: locks, descriptors, folders that are not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "live/agent/checkpoint_format.h"
#include "live/agent/journal.h"
#include "live/agent/probe_files.h"
#include "live/agent/slurm_parse.h"
#include "live/agent/slurm_port.h"
#include "live/agent/test_folder.h"

namespace orrery::agent::slurm_words_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::string refused_with(const CommandResult& answer) {
  SlurmPort port({}, [&](const Command&) -> Result<CommandResult> { return answer; });
  const auto done = port.act({.kind = failure::ActionKind::hold_job, .job = "7"});
  EXPECT_FALSE(done);
  if (done) return "done";
  EXPECT_EQ(done.error().front().code, "slurm.refused");
  EXPECT_EQ(done.error().front().place.file, "scontrol");
  return done.error().front().what;
}

TEST(SlurmWords, a_refusal_says_what_the_program_said_or_why_it_said_nothing) {
  const std::string head = "scontrol hold 7: ";
  EXPECT_EQ(refused_with({.exit_code = 1, .out = "out", .err = " two\nlines \n"}),
            head + "two lines");
  EXPECT_EQ(refused_with({.exit_code = 1, .out = "only out\n"}), head + "only out");
  EXPECT_EQ(refused_with({.exit_code = 1, .timed_out = true, .err = "x"}),
            head + "no answer in time");
  EXPECT_EQ(refused_with({.exit_code = 1, .output_cut = true, .err = "x"}),
            head + "more output than can be held");
  EXPECT_EQ(refused_with({.exit_code = 1, .err = std::string(501, 'e')}),
            head + std::string(500, 'e'));
}

TEST(SlurmWords, each_action_is_said_in_slurms_words) {
  std::vector<Command> asked;
  const CommandRunner runner = [&](const Command& command) -> Result<CommandResult> {
    asked.push_back(command);
    return CommandResult{.out = command.words.front() == "squeue" ? "b,a\n" : ""};
  };
  const auto said = [&](failure::RecoveryAction action) {
    asked.clear();
    SlurmPort port({.conf = "/c"}, runner);
    EXPECT_TRUE(port.act(action));
    std::vector<std::string> words = asked.back().words;
    EXPECT_THAT(asked.back().environment,
                ElementsAre(Pair("TZ", "UTC"), Pair("SLURM_TIME_FORMAT", "standard"),
                            Pair("SLURM_CONF", "/c")));
    EXPECT_THAT(asked.back().environment_without,
                ElementsAre("SQUEUE_", "SINFO_", "SLURM_CLUSTERS=", "SLURM_BITSTR_LEN="));
    return words;
  };
  using enum failure::ActionKind;
  const std::string why = "a \"reason\"\nof " + std::string(300, 'x');
  const std::string reason = "Reason=a  reason  of " + std::string(200 - 14, 'x');
  EXPECT_THAT(said({.kind = drain_node, .nodes = {"n1"}, .why = why}),
              ElementsAre("scontrol", "update", "NodeName=n1", "State=DRAIN", reason));
  EXPECT_THAT(said({.kind = down_node, .nodes = {"n1"}, .why = "x"}),
              ElementsAre("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=x"));
  EXPECT_THAT(said({.kind = resume_spare, .nodes = {"n1"}}),
              ElementsAre("scontrol", "update", "NodeName=n1", "State=RESUME"));
  EXPECT_THAT(said({.kind = requeue_job, .job = "7"}), ElementsAre("scontrol", "requeue", "7"));
  EXPECT_THAT(said({.kind = release_job, .job = "7"}),
              ElementsAre("scontrol", "update", "JobId=7", "StartTime=now"));
  EXPECT_THAT(said({.kind = hold_job, .job = "7"}), ElementsAre("scontrol", "hold", "7"));
  EXPECT_THAT(said({.kind = unhold_job, .job = "7"}), ElementsAre("scontrol", "release", "7"));
  EXPECT_THAT(said({.kind = exclude_nodes, .job = "7", .nodes = {"c", "a"}}),
              ElementsAre("scontrol", "update", "JobId=7", "ExcNodeList=a,b,c"));
}

TEST(SlurmWords, names_are_of_letters_digits_and_three_signs) {
  int asked = 0;
  SlurmPort port({}, [&](const Command&) -> Result<CommandResult> {
    ++asked;
    return CommandResult{};
  });
  const auto taken = [&](const std::string& name) {
    return port.act({.kind = failure::ActionKind::drain_node, .nodes = {name}}).has_value();
  };
  for (const std::string& good : {std::string("n1"), std::string("N-1_a.b"), std::string("0"),
                                  std::string("zZ9"), std::string(255, 'n')}) {
    EXPECT_TRUE(taken(good)) << good;
  }
  const int before = asked;
  for (const std::string& bad :
       {std::string(), std::string("-n"), std::string("a b"), std::string("a;b"),
        std::string("a/b"), std::string("a@b"), std::string("a[1]"), std::string("a{"),
        std::string("a`"), std::string(256, 'n')}) {
    EXPECT_FALSE(taken(bad)) << bad;
  }
  EXPECT_EQ(asked, before);
}

TEST(SlurmWords, what_slurm_is_set_to_and_since_when_it_runs) {
  const auto habits = [](const std::string& text) {
    return *slurm_habits(
        {}, [&](const Command&) -> Result<CommandResult> { return CommandResult{.out = text}; });
  };
  const SlurmHabits all = habits(
      "BOOT_TIME               = 2026-11-15T06:00:00\nJobRequeue = 1\n"
      "PreemptType = preempt/none\nReturnToService = 1\n");
  EXPECT_EQ(all.controller_since.base(), 1794722400);
  EXPECT_TRUE(all.requeues);
  EXPECT_FALSE(all.preempts);
  EXPECT_EQ(all.returns_service, 1);
  EXPECT_FALSE(habits("PreemptType = (null)\n").preempts);
  EXPECT_TRUE(habits("PreemptType = preempt/partition_prio\n").preempts);
}

TEST(SlurmWords, states_of_jobs_are_phases) {
  using enum failure::JobPhase;
  for (const auto& [state, phase] : std::vector<std::pair<std::string, failure::JobPhase>>{
           {"PENDING", pending},      {"REQUEUE_HOLD", pending},  {"SPECIAL_EXIT", pending},
           {"CONFIGURING", starting}, {"RUNNING", running},       {"SUSPENDED", running},
           {"STOPPED", running},      {"SIGNALING", running},     {"RESIZING", running},
           {"FAILED", failed},        {"NODE_FAIL", failed},      {"BOOT_FAIL", failed},
           {"COMPLETED", ended},      {"CANCELLED", ended},       {"TIMEOUT", ended},
           {"DEADLINE", ended},       {"PREEMPTED", ended},       {"REVOKED", ended},
           {"OUT_OF_MEMORY", ended},  {"COMPLETING", completing}, {"STAGE_OUT", completing}}) {
    const auto jobs =
        parse_jobs("9;" + state + ";2;1;2026-11-15T05:00:00;2026-11-15T06:00:00;n[1-2];None;\n");
    ASSERT_TRUE(jobs && jobs->size() == 1) << state;
    const failure::JobView& job = jobs->front();
    EXPECT_EQ(job.phase, phase) << state;
    EXPECT_EQ(job.restarts, 2);
    EXPECT_EQ(job.eligible.base(), 1794722400 - 3600);
    EXPECT_EQ(job.ended.base(), phase == failed ? 1794722400 : 0) << state;
    EXPECT_EQ(job.nodes.size(), phase == pending ? 0u : 2u) << state;
  }
}

TEST(SlurmWords, flags_of_nodes_are_read_one_by_one) {
  const auto node = [](const std::string& state, const std::string& reason = "none") {
    return parse_nodes("n;" + state + ";" + reason + ";\n", {}).value().front();
  };
  EXPECT_TRUE(node("down").down && !node("down").silent && !node("down").drained);
  EXPECT_TRUE(node("down*").silent && node("down*").down);
  EXPECT_TRUE(node("idle+not_responding").silent);
  for (const char* planned :
       {"reboot", "reboot_issued", "reboot_requested", "maint", "powered_down", "powering_down",
        "powering_up", "power_down", "power_up"}) {
    const auto seen = node(std::string("down*+") + planned);
    EXPECT_FALSE(seen.down || seen.silent) << planned;
  }
  for (const char* out : {"drain", "drained", "draining", "fail", "failing"}) {
    EXPECT_TRUE(node(std::string("idle+") + out).drained) << out;
  }
  EXPECT_TRUE(node("fail").broken && node("failing").broken);
  EXPECT_FALSE(node("idle+drain").broken || node("idle+drain").spare);
  const SlurmMarks marks;
  EXPECT_TRUE(node("idle+drain", marks.broken + ": x").broken);
  EXPECT_TRUE(node("idle+drain", marks.spare + " 3").spare);
  EXPECT_FALSE(node("idle", marks.spare).spare || node("idle", marks.broken).broken);
  for (const char* sign : {"*", "~", "#", "!", "%", "$", "@", "^", "-"}) {
    EXPECT_TRUE(node(std::string("drained") + sign).drained) << sign;
    EXPECT_EQ(node(std::string("drained") + sign).silent, *sign == '*') << sign;
  }
}

TEST(SlurmWords, lists_of_hosts_on_either_side_of_what_they_may_be) {
  const auto hosts = [](const char* list) {
    return expand_hosts(list).value_or(std::vector<std::string>{"refused"});
  };
  EXPECT_THAT(hosts("n[08-10,3]x,m"), ElementsAre("n08x", "n09x", "n10x", "n3x", "m"));
  EXPECT_THAT(hosts("n[5-5]"), ElementsAre("n5"));
  for (const char* bad : {"n[5-4]", "n[-1]", "n[1-2-3]", "n[", "n]", "n]1[", "a,,b", "n[x]"}) {
    EXPECT_THAT(hosts(bad), ElementsAre("refused")) << bad;
  }
  EXPECT_TRUE(hosts(" (null) ").empty() && hosts("").empty());
  EXPECT_EQ(parse_slurm_time("2026-02-30T00:00:00"), Seconds()) << "no such day";
  EXPECT_EQ(parse_slurm_time(" 1970-01-02T03:04:05 ").base(), 86'400 + 3 * 3600 + 4 * 60 + 5);
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

JournalForm form() {
  return {.header = "head", .older = {"old:"}, .check = [](std::string_view) -> Result<void> {
            return {};
          }};
}

TEST(JournalOnDisk, gives_its_files_back) {
  const TestFolder folder;
  const std::size_t before = open_files();
  for (int i = 0; i < 3; ++i) {
    auto journal = Journal::open(folder.at("j"), form());
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->append({"line"}));
    ASSERT_TRUE(journal->rewrite({"shorter"}));
    EXPECT_EQ(open_files(), before + 2) << "the file and its lock";
    Journal other = std::move(*journal);
    EXPECT_TRUE(other.append({"more"}));
    EXPECT_EQ(other.size(), 5u + 8 + 5);
    EXPECT_EQ(open_files(), before + 2);
  }
  EXPECT_EQ(open_files(), before);
  ASSERT_TRUE(Journal::read(folder.at("j"), form()));
  EXPECT_EQ(open_files(), before);
}

TEST(JournalOnDisk, an_older_one_begins_as_it_began_and_is_kept) {
  const TestFolder folder;
  folder.write("j", "old: of 2024\nline\n");
  auto journal = Journal::open(folder.at("j"), form());
  ASSERT_TRUE(journal);
  EXPECT_EQ(journal->text(), "old: of 2024\nline\n");
  ASSERT_TRUE(journal->append({"next"}));
  EXPECT_EQ(*Journal::read(folder.at("j"), form()), "old: of 2024\nline\nnext\n")
      << "no second header";
  EXPECT_TRUE(journal->append({}));
  EXPECT_EQ(Journal::read(folder.at("none"), form()).value_or("fault"), "");
  folder.write("k", "older: 1\n");
  EXPECT_FALSE(Journal::open(folder.at("k"), form()));
  EXPECT_FALSE(std::filesystem::exists(folder.at("k.lock"))) << "nothing is made beside it";
  EXPECT_FALSE(Journal::open(folder.at("no/such/folder/j"), form()));
}

TEST(JournalOnDisk, a_rewrite_may_bring_its_own_header) {
  const TestFolder folder;
  auto journal = Journal::open(folder.at("j"), form());
  ASSERT_TRUE(journal && journal->append({"a", "b"}));
  ASSERT_TRUE(journal->rewrite({"head", "c"}));
  EXPECT_EQ(*Journal::read(folder.at("j"), form()), "head\nc\n");
  ASSERT_TRUE(journal->append({"d"}));
  EXPECT_EQ(*Journal::read(folder.at("j"), form()), "head\nc\nd\n");
}

// A file in the way of each step: which is said, with its name.
TEST(ProbeFilesFaults, name_the_file_and_the_call) {
  const TestFolder folder;
  folder.write("0/part-1", "in the way");
  const FilesPlan plan{.folder = folder.path(), .threads = 1, .files = 3, .seconds_max = 30};
  EXPECT_THAT(measure_commits(plan).fault, HasSubstr("part-1: open: "));
  folder.write("0/meta-2", "in the way");
  const MetadataRates rates = measure_metadata(plan);
  EXPECT_THAT(rates.fault, HasSubstr("meta-2: open: "));
  EXPECT_FALSE(std::filesystem::exists(folder.at("0/meta-0"))) << "what was made is removed";
  std::filesystem::create_directories(folder.at("0/whole-0"));
  std::filesystem::remove(folder.at("0/part-1"));
  EXPECT_THAT(measure_commits(plan).fault, HasSubstr("part-0: rename: "));
}

TEST(CheckpointNames, steps_and_what_ends_a_checkpoint) {
  EXPECT_EQ(step_of("step-000120"), 120);
  EXPECT_EQ(step_of("120"), 120);
  EXPECT_EQ(step_of("a9z"), 0);
  EXPECT_EQ(step_of("x/"), 0);
  EXPECT_EQ(step_of("s2882303761517117449"), 2'882'303'761'517'117'449);
  EXPECT_EQ(step_of("s2882303761517117450"), 0) << "beyond what is taken";
  EXPECT_EQ(step_of("s99999999999999999999"), 0) << "no number of a step";
  const auto item = [](std::vector<std::string> files, const std::string& id = "s-1") {
    KeptItem made{.id = id};
    for (const std::string& file : files) made.files.push_back({.path = file});
    return made;
  };
  const auto ends = [&](std::vector<std::string> files) {
    return is_finished(item(std::move(files)), std::nullopt, "");
  };
  EXPECT_TRUE(ends({".metadata"}) && ends({"trainer_state.json"}) && ends({"model.safetensors"}));
  EXPECT_TRUE(ends({"model.safetensors.index.json"}));
  EXPECT_FALSE(ends({"model.safetensors", "model-00001-of-00002.safetensors"}))
      << "a shard: the index is still to come";
  EXPECT_FALSE(ends({"weights.bin"}));
  EXPECT_TRUE(is_finished(item({"x"}, "iter_10"), 10, ""));
  EXPECT_FALSE(is_finished(item({"x"}, "iter_11"), 10, ""));
  EXPECT_FALSE(is_finished(item({".metadata"}), std::nullopt, "done"));
  EXPECT_TRUE(is_finished(item({"done"}), std::nullopt, "done"));
}

}  // namespace
}  // namespace orrery::agent::slurm_words_tests
