#include "live/agent/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "live/agent/test_folder.h"

namespace orrery::agent::command_tests {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns true if the process has ended or is a zombie.
bool has_ended(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

// Returns true if the condition holds within two seconds.
template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 400 && !holds(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return holds();
}

TEST(Command, result_has_both_streams_and_the_exit_code) {
  const auto result = run_command({.words = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_FALSE(result->good());
}

TEST(Command, words_reach_the_program_unchanged) {
  const std::string odd = "a b;$(touch x)`y`\n'\"*";
  const auto result = run_command({.words = {"printf", "%s|%s", odd, ""}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, odd + "|");
}

TEST(Command, missing_program_is_an_error) {
  const auto result = run_command({.words = {"no-such-program-anywhere"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().front().code, "command.not-started");
  EXPECT_THAT(result.error().front().fix, HasSubstr("PATH"));
  const auto folder = run_command({.words = {"/"}});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().front().fix, "") << "another PATH would not help";
  EXPECT_FALSE(run_command({.words = {}}));
  EXPECT_EQ(run_command({.words = {"no such\nprogram"}}).error().front().place.file,
            "no such\nprogram");
  EXPECT_FALSE(run_command({.words = {"echo", std::string("a\0b", 3)}}));
}

TEST(Command, slow_program_is_killed_at_its_timeout) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run_command(
      {.words = {"sh", "-c", "echo begun; sleep 60 & sleep 60"}, .timeout = seconds(0.3)});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->out, "begun\n");
  EXPECT_EQ(result->exit_code, 128 + 9);
  EXPECT_LT(took.count(), 10);
}

TEST(Command, children_of_a_timed_out_program_are_killed_too) {
  const auto result = run_command(
      {.words = {"sh", "-c", "sleep 60 & echo $!; exec sleep 60"}, .timeout = seconds(0.3)});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  ASSERT_GT(result->out.size(), 1u);
  const std::string pid = result->out.substr(0, result->out.size() - 1);
  EXPECT_TRUE(soon([&] { return has_ended(pid); }));
}

TEST(Command, grandchild_with_the_pipe_open_is_not_waited_for) {
  const auto result =
      run_command({.words = {"sh", "-c", "sleep 20 & echo $!"}, .timeout = seconds(15)});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->good());
  ASSERT_THAT(result->out, HasSubstr("\n"));
  EXPECT_TRUE(run_command({.words = {"kill", result->out.substr(0, result->out.size() - 1)}}));
}

TEST(Command, output_beyond_the_limit_is_dropped_and_reported) {
  const auto result =
      run_command({.words = {"sh", "-c", "head -c 300000 /dev/zero"}, .output_bytes_max = 1000});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_TRUE(result->output_cut);
  EXPECT_FALSE(result->good());
  EXPECT_EQ(result->exit_code, 0);
}

TEST(Command, variable_replaces_ours_by_its_whole_name) {
  ::setenv("ORRERY_TEST_TWICE", "old", 1);
  ::setenv("ORRERY_TEST_TWICE_LONG", "kept", 1);
  const auto result =
      run_command({.words = {"env"}, .environment = {{"ORRERY_TEST_TWICE", "new"}}});
  ::unsetenv("ORRERY_TEST_TWICE");
  ::unsetenv("ORRERY_TEST_TWICE_LONG");
  ASSERT_TRUE(result);
  EXPECT_THAT(result->out, HasSubstr("ORRERY_TEST_TWICE=new\n"));
  EXPECT_THAT(result->out, HasSubstr("ORRERY_TEST_TWICE_LONG=kept\n"));
  EXPECT_THAT(result->out, Not(HasSubstr("ORRERY_TEST_TWICE=old")));
}

TEST(Command, variables_can_be_withheld_by_prefix) {
  ::setenv("ORRERY_TEST_SET", "1", 1);
  const Command command{.words = {"sh", "-c", "echo x$ORRERY_TEST_SET"},
                        .environment_without = {"ORRERY_TEST_"}};
  const auto result = run_command(command);
  ::unsetenv("ORRERY_TEST_SET");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "x\n");
}

TEST(Command, input_is_empty) {
  const auto result = run_command({.words = {"wc", "-c"}, .timeout = seconds(10)});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "0\n");
}

TEST(Command, child_does_not_inherit_blocked_signals) {
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

TEST(Command, running_command_ends_with_its_object) {
  const TestFolder folder;
  const std::string pid_file = folder.at("pid");
  auto running =
      start_command({.words = {"sh", "-c", "echo $$ > " + pid_file + "; exec sleep 60"}});
  ASSERT_TRUE(running);
  const auto pid = [&] {
    std::string text;
    std::ifstream(pid_file) >> text;
    return text;
  };
  ASSERT_TRUE(soon([&] { return !pid().empty(); }));
  EXPECT_FALSE((*running)->poll());
  running->reset();
  EXPECT_TRUE(soon([&] { return has_ended(pid()); }));
}

TEST(Command, stop_kills_the_program) {
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

TEST(Command, text_quotes_words_with_blanks_or_odd_bytes) {
  const auto text = [](const std::string& word) { return to_text(Command{.words = {word}}); };
  EXPECT_EQ(to_text(Command{.words = {"a", "b=1", "c d", "e\n"}}), "a b=1 \"c d\" \"e\\n\"");
  EXPECT_EQ(text("~!x"), "~!x");
  EXPECT_EQ(text(""), "\"\"");
  for (const char* odd : {"\x7f", "a'b", "a\tb", "\xc3\xa4"}) {
    EXPECT_EQ(text(odd).front(), '"') << odd;
    EXPECT_EQ(text(odd).back(), '"') << odd;
  }
  EXPECT_EQ(text("a\"b"), "\"a\\\"b\"");
  EXPECT_EQ(text("a\\b"), "\"a\\\\b\"");
}

}  // namespace
}  // namespace orrery::agent::command_tests
