#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "app/cli/answer_fixture.h"
#include "app/cli/journal_fixture.h"
#include "app/cli/spoken_fixture.h"
#include "app/cli/verb.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Limits file sizes, which has the effect of a full disk.
class FilesLimited {
 public:
  explicit FilesLimited(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FilesLimited() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FilesLimited(const FilesLimited&) = delete;
  FilesLimited& operator=(const FilesLimited&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = SIG_DFL;
};

// Two nodes and a job, reported by programs with the names of Slurm's.
class RecoverJournal : public testing::Test {
 protected:
  RecoverJournal() : path_("PATH", folder.path() + "/bin:" + std::getenv("PATH")) {
    program("squeue", "case \"$*\" in *%x*) exit 0 ;; esac\necho look >> looks\ncat jobs\n");
    program("sinfo", "cat nodes\n");
    program("scontrol", "if [ \"$1\" = show ]; then cat config; else echo \"$*\" >> orders; fi\n");
    folder.write("nodes", "n1;idle;none;\nn2;idle;none;\n");
    folder.write("config", "JobRequeue = 1\nReturnToService = 0\n");
    folder.write("jobs", "7;RUNNING;0;1;2026-11-15T05:26:55;NONE;n1;None;\n");
  }
  void program(const std::string& name, const std::string& text) const {
    folder.write("bin/" + name, "#!/bin/sh\ncd " + folder.path() + "\n" + text);
    ::chmod(folder.at("bin/" + name).c_str(), 0755);
  }
  void is_lost() const {
    folder.write("jobs", "7;PENDING;1;1;2026-11-15T05:28:59;N/A;;BeginTime;\n");
  }
  std::string text(const std::string& name) const {
    return read_text_file(folder.at(name)).value_or("");
  }
  std::size_t size() const { return fs::file_size(folder.at("j.jsonl")); }
  VerbAnswer recover(const std::vector<std::string>& more, const Circumstances& given = {}) const {
    std::vector<std::string> words = {"agent", "recover", "--journal", folder.at("j.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words, given);
  }
  agent::TestFolder folder;
  Variable path_;
};

// Which job ran where is kept, and the next tick writes the journal completely.
TEST_F(RecoverJournal, a_journal_over_16_mib_is_compacted) {
  folder.write("j.jsonl",
               padded("{\"kind\":\"journal\",\"of\":\"orrery agent recover\",\"version\":1}\n",
                      "\n", kCutAbove + 1));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool lost = false;
  recover({"--interval", "50 ms"}, {.interrupted = [&] {
            if (!lost && size() < kCutAbove) {
              lost = true;
              is_lost();
            }
            return !text("orders").empty() || std::chrono::steady_clock::now() > deadline;
          }});
  EXPECT_EQ(text("orders"), "update JobId=7 StartTime=now\n");
  const std::string journal = text("j.jsonl");
  EXPECT_THAT(journal,
              AllOf(StartsWith("{\"kind\":\"journal\","), HasSubstr("\n{\"kind\":\"memory\","),
                    HasSubstr("{\"kind\":\"job_lost\","), Not(HasSubstr("   "))));
  const std::size_t at = journal.find("{\"kind\":\"seen\"");
  ASSERT_NE(at, journal.npos) << journal;
  EXPECT_THAT(journal.substr(at, journal.find('\n', at) - at),
              AllOf(HasSubstr("\"whole\":true"), HasSubstr("\"n1\""), HasSubstr("\"n2\"")));
}

TEST_F(RecoverJournal, an_unwritable_journal_stops_the_agent) {
  const FilesLimited disk(100);
  const VerbAnswer a = recover({});
  EXPECT_EQ(a.code, ExitCode::bad_input);
  EXPECT_EQ(codes_in(a.err), "journal.unusable");
}

int count_of(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Eight nodes; each test says what runs on them. Each tick asks squeue once, which is counted.
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

TEST_F(RecoverVerb, a_lost_job_avoids_its_former_nodes) {
  recover({"--once"});
  EXPECT_EQ(text("orders"), "");
  is_lost();
  const VerbAnswer lost = recover({"--once"});
  EXPECT_EQ(lost.code, ExitCode::good) << lost.err;
  EXPECT_THAT(lost.out, AllOf(HasSubstr("  job 7 lost"), HasSubstr("  exclude_nodes 7 n1: ")));
  EXPECT_EQ(text("orders"), "update JobId=7 ExcNodeList=n1\n");
}

// A requeue may be a preemption, which is no node's fault.
TEST_F(RecoverVerb, a_preempted_job_is_released_and_avoids_no_node) {
  config("preempt/qos", "1", "0");
  recover({"--once"});
  is_lost();
  const VerbAnswer lost = recover({"--once", "--format", "json"});
  EXPECT_THAT(lost.out, AllOf(HasSubstr("\"kind\":\"job_lost\""), HasSubstr("\"release_job\"")));
  EXPECT_EQ(text("orders"), "update JobId=7 StartTime=now\n");
}

TEST_F(RecoverVerb, a_dry_run_gives_no_orders_and_keeps_no_journal) {
  recover({"--once"});
  const std::string kept = text("j.jsonl");
  is_lost();
  const VerbAnswer dry = recover({"--once", "--dry-run"});
  EXPECT_EQ(dry.code, ExitCode::good);
  EXPECT_THAT(dry.out, HasSubstr("  exclude_nodes 7 n1: "));
  EXPECT_EQ(text("orders"), "");
  EXPECT_EQ(text("j.jsonl"), kept);
}

TEST_F(RecoverVerb, node_exclusions_follow_the_options) {
  recover({"--once"});
  std::string nodes = text("nodes");
  folder.write("nodes", nodes.replace(0, std::string("n1;idle;none;").size(), "n1;drain;ill;"));
  EXPECT_EQ(recover({"--once"}).out, "");
  EXPECT_THAT(recover({"--once", "--broken-reason", "ill"}).out, HasSubstr("  node n1 failed\n"));
}

TEST_F(RecoverVerb, an_unreachable_controller_fails_once_and_is_retried_otherwise) {
  program("sinfo", "echo away >&2\nexit 1\n");
  const VerbAnswer once = recover({"--once"});
  EXPECT_EQ(once.code, ExitCode::bad_input);
  EXPECT_THAT(once.err, HasSubstr("[slurm.refused]"));
  program("scontrol", "exit 1\n");
  folder.write("looks", "");
  EXPECT_EQ(recover({"--once"}).code, ExitCode::bad_input) << "the habits";
  EXPECT_EQ(text("looks"), "");
  program("scontrol", "cat config\n");
  program("sinfo", "touch asked\nexit 1\n");
  int after = 0;
  const VerbAnswer many = recover({"--interval", "50 ms"}, {.interrupted = [&] {
                                    after += ::access(folder.at("asked").c_str(), F_OK) == 0;
                                    return after > 3;
                                  }});
  EXPECT_EQ(many.code, ExitCode::interrupted);
  EXPECT_EQ(count_of(many.err, "[slurm.refused]"), 1) << many.err;
}

TEST_F(RecoverVerb, an_early_interrupt_ends_the_agent) {
  const VerbAnswer none = recover({}, {.interrupted = [] { return true; }});
  EXPECT_EQ(none.code, ExitCode::interrupted);
  EXPECT_EQ(text("looks"), "");
}

// The third query after the first tick comes during the wait of one minute.
TEST_F(RecoverVerb, looks_are_an_interval_apart) {
  int asked = 0;
  const VerbAnswer a = recover({"--interval", "1 min"}, {.interrupted = [&] {
                                 asked += !text("j.jsonl").empty();
                                 return asked > 2;
                               }});
  EXPECT_EQ(a.code, ExitCode::interrupted);
  EXPECT_EQ(text("looks"), "look\n");
}

TEST_F(RecoverVerb, waiting_jobs_shorten_the_interval) {
  recover({"--once"});
  is_lost();
  folder.write("looks", "");
  const auto end = Clock::now() + std::chrono::seconds(10);
  recover({"--interval", "1 min"}, {.interrupted = [&] {
            return count_of(text("looks"), "look") > 1 || Clock::now() > end;
          }});
  EXPECT_LT(Clock::now(), end);
}

TEST_F(RecoverVerb, a_torn_last_line_is_cut) {
  recover({"--once"});
  std::ofstream(folder.at("j.jsonl"), std::ios::app) << "{\"kind\":\"wat";
  EXPECT_THAT(recover({"--once"}).err, HasSubstr("note: "));
  EXPECT_EQ(text("j.jsonl").find("\"wat{"), std::string::npos);
  EXPECT_EQ(text("j.jsonl").back(), '\n');
}

// A file that is not a journal is refused in a dry run too, and is not changed.
TEST(Agent, a_file_that_is_no_journal_is_not_changed) {
  const agent::TestFolder folder;
  const std::string path = folder.at("precious.json");
  const std::string text = "{\"designs\":[" + std::string(5000, '1') + "]}";
  folder.write("precious.json", text);
  for (const char* how : {"--dry-run", "--once"}) {
    const VerbAnswer answer =
        ask(all_verbs(), {"agent", "recover", "--conf", "/no/such/conf", "--journal", path, how});
    EXPECT_EQ(answer.code, ExitCode::bad_input) << how;
    EXPECT_EQ(read_text_file(path).value_or(""), text) << how;
  }
  const VerbAnswer dry = ask(all_verbs(), {"agent", "recover", "--journal", path, "--dry-run"});
  EXPECT_THAT(dry.err, HasSubstr("journal.other-file"));
}

}  // namespace
}  // namespace orrery::cli
