// `orrery agent recover` against programs that answer as Slurm's do: what it says at the start,
// what it orders, how it waits and what it keeps in its journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "app/cli/spoken_fixture.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

int count_of(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Eight nodes; the tests say what runs on them. Each look asks squeue once, which is counted.
class RecoverVerb : public testing::Test {
 protected:
  RecoverVerb() : path_("PATH", folder.path() + "/bin:" + std::getenv("PATH")) {
    program("squeue", "case \"$*\" in *%x*) exit 0 ;; esac\necho look >> looks\ncat jobs\n");
    program("sinfo", "cat nodes\n");
    program("scontrol", "if [ \"$1\" = show ]; then cat config; else echo \"$*\" >> orders; fi\n");
    std::string nodes;
    for (int i = 1; i <= 8; ++i) nodes += "n" + std::to_string(i) + ";idle;none;\n";
    folder.write("nodes", nodes);
    config("preempt/none", "1", "0");
    runs();
  }

  void program(const std::string& name, const std::string& text) const {
    folder.write("bin/" + name, "#!/bin/sh\ncd " + folder.path() + "\n" + text);
    ::chmod(folder.at("bin/" + name).c_str(), 0755);
  }
  void config(const std::string& preempts, const std::string& requeues,
              const std::string& returns) const {
    folder.write("config", "PreemptType = " + preempts + "\nJobRequeue = " + requeues +
                               "\nReturnToService = " + returns +
                               "\nBOOT_TIME = 2026-11-15T05:00:00\n");
  }
  void runs() const { folder.write("jobs", "7;RUNNING;0;1;2026-11-15T05:26:55;NONE;n1;None;\n"); }
  void is_lost() const {
    folder.write("jobs", "7;PENDING;1;1;2026-11-15T05:28:59;N/A;;BeginTime;\n");
  }
  std::string text(const std::string& name) const {
    return read_text_file(folder.at(name)).value_or("");
  }
  VerbAnswer recover(std::vector<std::string> more, const Circumstances& given = {}) const {
    std::vector<std::string> words = {"agent", "recover", "--journal", folder.at("j.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words, given);
  }

  agent::TestFolder folder;
  Variable path_;
};

TEST_F(RecoverVerb, says_what_of_the_configuration_makes_recovery_slower) {
  const VerbAnswer quiet = recover({"--once"});
  EXPECT_EQ(quiet.code, ExitCode::good) << quiet.err;
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(quiet.out, "");
  config("preempt/qos", "0", "1");
  const VerbAnswer loud = recover({"--once"});
  EXPECT_EQ(loud.err,
            "note: this Slurm preempts, so a job requeued without a node seen down avoids no "
            "nodes (--avoid-share)\n"
            "note: JobRequeue=0: only jobs submitted with --requeue come back\n"
            "note: without --fence a silent node is left to SlurmdTimeout\n");
  EXPECT_THAT(recover({"--once", "--avoid-share", "0.2"}).err, Not(HasSubstr("preempts")));
  EXPECT_THAT(recover({"--once", "--fence", "true"}).err, Not(HasSubstr("SlurmdTimeout")));
}

TEST_F(RecoverVerb, a_job_lost_without_a_node_seen_down_avoids_its_nodes) {
  recover({"--once"});
  EXPECT_EQ(text("orders"), "");
  is_lost();
  const VerbAnswer lost = recover({"--once"});
  EXPECT_EQ(lost.code, ExitCode::good) << lost.err;
  EXPECT_THAT(lost.out, AllOf(HasSubstr("  job 7 lost its run on unseen cause\n"),
                              HasSubstr("  exclude_nodes 7 n1: lost there, cause unseen\n")));
  EXPECT_EQ(text("orders"), "update JobId=7 ExcNodeList=n1\n");
}

// A requeue may be a preemption there, of which no node is guilty.
TEST_F(RecoverVerb, where_slurm_preempts_it_is_released_and_avoids_none) {
  config("preempt/qos", "1", "0");
  recover({"--once"});
  is_lost();
  const VerbAnswer lost = recover({"--once", "--format", "json"});
  EXPECT_THAT(lost.out, AllOf(HasSubstr("\"kind\":\"job_lost\""), HasSubstr("\"release_job\"")));
  EXPECT_EQ(text("orders"), "update JobId=7 StartTime=now\n");
}

TEST_F(RecoverVerb, a_dry_run_orders_and_keeps_nothing) {
  recover({"--once"});
  const std::string kept = text("j.jsonl");
  is_lost();
  const VerbAnswer dry = recover({"--once", "--dry-run"});
  EXPECT_EQ(dry.code, ExitCode::good);
  EXPECT_THAT(dry.err, HasSubstr("dry run: nothing is done and nothing is journalled\n"));
  EXPECT_THAT(dry.out, HasSubstr("  exclude_nodes 7 n1: lost there, cause unseen\n"));
  EXPECT_EQ(text("orders"), "");
  EXPECT_EQ(text("j.jsonl"), kept);
}

TEST_F(RecoverVerb, marks_of_nodes_are_those_it_is_told) {
  recover({"--once"});
  std::string nodes = text("nodes");
  folder.write("nodes", nodes.replace(0, std::string("n1;idle;none;").size(), "n1;drain;ill;"));
  EXPECT_EQ(recover({"--once"}).out, "") << "a drain of a person's";
  EXPECT_THAT(recover({"--once", "--broken-reason", "ill"}).out, HasSubstr("  node n1 failed\n"));
}

TEST_F(RecoverVerb, what_cannot_be_asked_is_refused_by_one_look_and_tried_again_by_many) {
  program("sinfo", "echo away >&2\nexit 1\n");
  const VerbAnswer once = recover({"--once"});
  EXPECT_EQ(once.code, ExitCode::bad_input);
  EXPECT_THAT(once.err, AllOf(HasSubstr("[slurm.refused]"), Not(HasSubstr("goes on"))));
  program("scontrol", "exit 1\n");
  folder.write("looks", "");
  EXPECT_EQ(recover({"--once"}).code, ExitCode::bad_input) << "the habits";
  EXPECT_EQ(text("looks"), "") << "nothing else is asked then";
  program("scontrol", "cat config\n");
  program("sinfo", "touch asked\nexit 1\n");
  int after = 0;
  const VerbAnswer many = recover({"--interval", "50 ms"}, {.interrupted = [&] {
                                    after += ::access(folder.at("asked").c_str(), F_OK) == 0;
                                    return after > 3;
                                  }});
  EXPECT_EQ(many.code, ExitCode::interrupted);
  EXPECT_EQ(count_of(many.err, "    the agent goes on trying\n"), 1) << many.err;
  EXPECT_THAT(many.err,
              AllOf(HasSubstr("[slurm.refused]"),
                    HasSubstr("stopped; start it again with the same journal to go on\n")));
}

TEST_F(RecoverVerb, an_interruption_before_the_first_look_ends_it) {
  const VerbAnswer none = recover({}, {.interrupted = [] { return true; }});
  EXPECT_EQ(none.code, ExitCode::interrupted);
  EXPECT_EQ(text("looks"), "");
}

// The third question after the first look is asked while it waits, a minute long.
TEST_F(RecoverVerb, it_waits_between_two_looks) {
  int asked = 0;
  const VerbAnswer a = recover({"--interval", "1 min"}, {.interrupted = [&] {
                                 asked += !text("j.jsonl").empty();
                                 return asked > 2;
                               }});
  EXPECT_EQ(a.code, ExitCode::interrupted);
  EXPECT_EQ(text("looks"), "look\n");
}

TEST_F(RecoverVerb, while_a_job_waits_it_looks_more_often) {
  recover({"--once"});
  is_lost();
  folder.write("looks", "");
  const auto end = Clock::now() + std::chrono::seconds(10);
  recover({"--interval", "1 min"}, {.interrupted = [&] {
            return count_of(text("looks"), "look") > 1 || Clock::now() > end;
          }});
  EXPECT_LT(Clock::now(), end);
}

TEST_F(RecoverVerb, a_torn_last_line_is_cut_and_said) {
  recover({"--once"});
  std::ofstream(folder.at("j.jsonl"), std::ios::app) << "{\"kind\":\"wat";
  EXPECT_EQ(recover({"--once"}).err, "note: the journal's torn last line was cut\n");
}

}  // namespace
}  // namespace orrery::cli
