// Journals of the live agents: cut to what is remembered once they are long, refused where they
// cannot be written, and trouble that is said once each time it comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>

#include "app/cli/spoken_fixture.h"
#include "live/agent/lifecycle_lines.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::size_t kCutAbove = std::size_t{16} * 1024 * 1024;

// No file grows beyond so many bytes: a disk that is full.
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

// With blanks before the end of its last line, so many that the whole has `bytes`.
std::string padded(const std::string& journal, const std::string& end, std::size_t bytes) {
  return journal + std::string(bytes - journal.size() - end.size(), ' ') + end;
}

// Two nodes and a job, told by programs of Slurm's names.
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

// What is remembered stays: who ran where. The next look is written whole.
TEST_F(RecoverJournal, of_more_than_16_mebibytes_is_cut_to_what_is_remembered) {
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

TEST_F(RecoverJournal, that_cannot_be_written_ends_the_agent) {
  const FilesLimited disk(100);
  const VerbAnswer a = recover({});
  EXPECT_EQ(a.code, ExitCode::bad_input);
  EXPECT_EQ(a.err, folder.at("j.jsonl") +
                       ": error: cannot write: File too large [journal.unusable]\n"
                       "    why: nothing is done that is not on disk first\n"
                       "    fix: make room on its disk\n");
}

class LifecycleJournal : public testing::Test {
 protected:
  LifecycleJournal() {
    folder.write("hot/iter_100/x", "abc");
    folder.write("hot/iter_100/done", "abcd");
  }
  VerbAnswer keep(const std::vector<std::string>& more, const Circumstances& given = {},
                  const std::string& interval = "0 s") const {
    std::vector<std::string> words = {"agent",    "lifecycle", "--journal",  folder.at("l.jsonl"),
                                      "--quiet",  "0 s",       "--interval", interval,
                                      "--marker", "done"};
    words.insert(words.end(), more.begin(), more.end());
    return spoken(words, given);
  }
  std::string hot(const std::string& rules) const { return "hot=" + folder.at("hot") + rules; }
  std::string cold(const std::string& rules) const { return "cold=" + folder.at("cold") + rules; }
  std::string journal() const { return read_text_file(folder.at("l.jsonl")).value_or(""); }
  agent::TestFolder folder;
};

TEST_F(LifecycleJournal, of_more_than_16_mebibytes_is_cut_to_what_is_remembered) {
  const std::vector<std::string> once = {"--place", hot(",written,newest=1"), "--once"};
  ASSERT_EQ(keep(once).code, ExitCode::good);
  const std::string kept = journal();
  // It is cut between two looks, of which there are two at the least.
  folder.write("l.jsonl", padded(kept + R"({"kind":"alerted","key":"k")", "}\n", kCutAbove + 1));
  ASSERT_EQ(keep(once).code, ExitCode::good);
  EXPECT_THAT(
      journal(),
      AllOf(StartsWith(agent::lifecycle_header() + "\n"), HasSubstr("\"item\":\"iter_100\""),
            HasSubstr("{\"kind\":\"alerted\",\"key\":\"k\"}\n"), Not(HasSubstr("   "))));
  EXPECT_EQ(keep(once).out, "") << "what was read is remembered";
}

TEST_F(LifecycleJournal, copies_are_made_told_and_read) {
  const VerbAnswer a = keep({"--place", hot(",written,all"), "--place", cold(",all"), "--once"});
  EXPECT_EQ(a.code, ExitCode::good) << a.err;
  std::string lines;
  for (std::size_t at = 0; at < a.out.size(); at = a.out.find('\n', at) + 1) {
    lines += a.out.substr(at + 12, a.out.find('\n', at) + 1 - at - 12);
  }
  EXPECT_EQ(lines,
            "  verify iter_100  hot  7 B  (nobody has read it yet)\n"
            "  copy iter_100  hot ->  cold  7 B  (cold should hold it)\n"
            "  verify iter_100  cold  7 B  (nobody has read it yet)\n");
  EXPECT_EQ(a.err, "1 items; nothing more to do now\n");
  EXPECT_EQ(read_text_file(folder.at("cold/iter_100/x")).value_or(""), "abc");
  // After something was done the next look does not wait for its time.
  fs::remove(folder.at("l.jsonl"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const VerbAnswer again =
      keep({"--place", cold(",all"), "--once"},
           {.interrupted = [&] { return std::chrono::steady_clock::now() > deadline; }}, "1 h");
  EXPECT_EQ(again.code, ExitCode::good);
  EXPECT_THAT(again.out, EndsWith("  verify iter_100  cold  7 B  (nobody has read it yet)\n"));
}

// The copy fails where a file stands in its way, which is said and is no end.
TEST_F(LifecycleJournal, what_failed_is_told_with_its_reason) {
  folder.write("cold/iter_100", "in the way");
  const VerbAnswer a =
      keep({"--place", hot(",written,all"), "--place", cold(",all")}, {.stop_at = "failed"});
  EXPECT_EQ(a.code, ExitCode::interrupted);
  EXPECT_THAT(a.out,
              HasSubstr("  copy iter_100  hot ->  cold  7 B  (cold should hold it)  failed: " +
                        folder.at("cold/")));
  EXPECT_EQ(a.err, "stopped; start it again with the same journal to go on\n");
}

}  // namespace
}  // namespace orrery::cli
