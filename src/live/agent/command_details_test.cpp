// A child's environment, signals and end; and what bursts and journals leave on a disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "live/agent/checkpoint_burst.h"
#include "live/agent/checkpoint_format.h"
#include "live/agent/command.h"
#include "live/agent/journal.h"
#include "live/agent/test_folder.h"

namespace orrery::agent {
namespace {

using testing::HasSubstr;

TEST(CommandDetails, a_command_has_half_a_minute_and_64_mebibytes) {
  const Command command;
  EXPECT_EQ(command.timeout, seconds(30));
  EXPECT_EQ(command.output_bytes_max, 67108864U);
  const CommandResult result;
  EXPECT_TRUE(result.good());
  EXPECT_FALSE((CommandResult{.exit_code = 1}).good());
  EXPECT_FALSE((CommandResult{.timed_out = true}).good());
  EXPECT_FALSE((CommandResult{.output_cut = true}).good());
}

TEST(CommandDetails, a_variable_is_replaced_by_its_whole_name) {
  ::setenv("ORRERY_NAME_LONG", "kept", 1);
  const auto result = run_command({.words = {"env"}, .environment = {{"ORRERY_NAME", "new"}}});
  ::unsetenv("ORRERY_NAME_LONG");
  ASSERT_TRUE(result);
  EXPECT_THAT(result->out, HasSubstr("ORRERY_NAME=new\n"));
  EXPECT_THAT(result->out, HasSubstr("ORRERY_NAME_LONG=kept\n"));
}

// What this process holds back is not held back from the child.
TEST(CommandDetails, a_child_is_ended_by_a_signal_that_we_block) {
  sigset_t term, before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  const auto result = run_command({.words = {"sh", "-c", "kill -TERM $$; echo alive"}});
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 128 + SIGTERM);
  EXPECT_EQ(result->out, "");
}

bool has_ended(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

template <class Said>
bool soon(Said said) {
  for (int i = 0; i < 300 && !said(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return said();
}

TEST(CommandDetails, what_runs_beside_us_ends_with_its_object) {
  const TestFolder folder;
  const std::string told = folder.at("pid");
  auto running = start_command({.words = {"sh", "-c", "echo $$ > " + told + "; exec sleep 60"}});
  ASSERT_TRUE(running);
  const auto pid = [&] {
    std::string text;
    std::ifstream(told) >> text;
    return text;
  };
  ASSERT_TRUE(soon([&] { return !pid().empty(); }));
  EXPECT_FALSE((*running)->poll());
  running->reset();
  EXPECT_TRUE(soon([&] { return has_ended(pid()); }));
}

TEST(CommandDetails, a_run_is_given_up_when_it_is_told_to_stop) {
  int asked = 0;
  const auto result =
      run_until([&] { return ++asked == 2; })({.words = {"sleep", "60"}, .timeout = seconds(50)});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->exit_code, 128 + SIGKILL);
  EXPECT_EQ(asked, 2);
  const auto done = run_until([] { return false; })({.words = {"echo", "x"}});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "x\n");
  EXPECT_FALSE(done->timed_out);
  EXPECT_FALSE(run_until([] { return false; })({.words = {"no-such-program-anywhere"}}));
}

TEST(CommandDetails, plain_words_stand_without_quotes) {
  const auto text = [](const std::string& word) { return to_text(Command{.words = {word}}); };
  EXPECT_EQ(text("~!x"), "~!x");
  EXPECT_EQ(text(""), "\"\"");
  for (const char* odd : {"\x7f", "a b", "a'b", "a\tb", "\xc3\xa4"}) {
    EXPECT_EQ(text(odd).front(), '"') << odd;
    EXPECT_EQ(text(odd).back(), '"') << odd;
  }
  EXPECT_EQ(text("a\"b"), "\"a\\\"b\"");
  EXPECT_EQ(text("a\\b"), "\"a\\\\b\"");
}

TEST(CommandDetails, a_fault_names_the_program_and_the_reason) {
  const auto none = run_command({.words = {"no such\nprogram"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().place.file, "no such\nprogram");
  EXPECT_THAT(none.error().front().what, HasSubstr("\"no such\\nprogram\""));
  EXPECT_THAT(none.error().front().what, HasSubstr("No such file"));
  EXPECT_THAT(run_command({.words = {}}).error().front().what, HasSubstr("Invalid argument"));
}

TEST(BurstOnDisk, defaults_are_four_writers_of_eight_mebibytes) {
  const BurstPlan plan;
  EXPECT_EQ(plan.writers, 4);
  EXPECT_EQ(plan.write_bytes, 8388608U);
  EXPECT_EQ(plan.seed, 1U);
  EXPECT_EQ(plan.bytes, 0U);
}

// A file that cannot get its final name was not made safe.
TEST(BurstOnDisk, a_name_that_is_taken_is_told) {
  const TestFolder folder;
  folder.write("rank-1.ckpt/by", "taken");
  const BurstTimes t =
      run_burst({.folder = folder.path(), .writers = 2, .bytes = 1 << 14, .write_bytes = 4096});
  EXPECT_THAT(t.fault, HasSubstr("rank-1.part: rename"));
  EXPECT_EQ(t.bytes, 1U << 14);
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-1.part")));
  EXPECT_FALSE(std::filesystem::exists(folder.at("rank-0.ckpt")));
}

TEST(CheckpointSteps, the_digits_at_the_end_are_of_the_name_alone) {
  const std::string text = "7123";
  EXPECT_EQ(step_of(std::string_view(text).substr(1)), 123);
  EXPECT_EQ(step_of("123"), 123);
  EXPECT_EQ(step_of(""), 0);
  EXPECT_EQ(step_of("step-9a"), 0);
}

JournalForm plain_form() {
  return {.header = "head", .older = {}, .check = [](std::string_view) { return Result<void>(); }};
}

unsigned mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

TEST(JournalModes, a_journal_and_what_stands_beside_it_are_the_agent_s_alone) {
  const TestFolder folder;
  const std::string path = folder.at("j");
  auto journal = Journal::open(path, plain_form());
  ASSERT_TRUE(journal);
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(mode_of(path + ".lock"), 0600U);
  ASSERT_TRUE(journal->rewrite({"a"}));
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST(JournalModes, nothing_to_append_writes_nothing) {
  const TestFolder folder;
  auto journal = Journal::open(folder.at("j"), plain_form());
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->append({}));
  EXPECT_EQ(journal->size(), 0U);
  EXPECT_EQ(std::filesystem::file_size(folder.at("j")), 0U);
  ASSERT_TRUE(journal->append({"one"}));
  EXPECT_EQ(journal->size(), 9U) << "head and one, a line each";
}

TEST(JournalModes, an_assigned_journal_is_the_other) {
  const TestFolder folder;
  folder.write("a", "head\nfirst\n");
  folder.write("b", "head\nsecond\ntorn");
  auto a = Journal::open(folder.at("a"), plain_form());
  auto b = Journal::open(folder.at("b"), plain_form());
  ASSERT_TRUE(a && b);
  *a = std::move(*b);
  EXPECT_EQ(a->text(), "head\nsecond\n");
  EXPECT_EQ(a->torn_bytes(), 4U);
  EXPECT_EQ(a->size(), 12U);
  ASSERT_TRUE(a->append({"third"}));
  EXPECT_EQ(std::filesystem::file_size(folder.at("b")), 18U);
  EXPECT_EQ(std::filesystem::file_size(folder.at("a")), 11U);
}

TEST(JournalModes, what_is_no_plain_file_is_not_read) {
  const TestFolder folder;
  const auto read = Journal::read(folder.path(), plain_form());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().front().code, "journal.unusable");
  EXPECT_EQ(read.error().front().what, "no plain file: Invalid argument");
  EXPECT_EQ(Journal::read(folder.at("absent"), plain_form()).value(), "");
}

}  // namespace
}  // namespace orrery::agent
