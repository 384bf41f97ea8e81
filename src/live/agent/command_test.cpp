#include "live/agent/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace orrery::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Command, gives_back_both_streams_and_the_exit_code) {
  const auto result = run_command({.words = {"sh", "-c", "echo out; echo err >&2; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_FALSE(result->good());
}

TEST(Command, words_reach_the_program_as_they_are) {
  const std::string odd = "a b;$(touch x)`y`\n'\"*";
  const auto result = run_command({.words = {"printf", "%s|%s", odd, ""}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, odd + "|");
}

TEST(Command, a_program_that_is_not_there_is_an_error) {
  const auto result = run_command({.words = {"no-such-program-anywhere"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().front().code, "command.not-started");
  EXPECT_THAT(result.error().front().fix, HasSubstr("PATH"));
  const auto folder = run_command({.words = {"/"}});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().front().fix, "") << "it is there: another PATH would not help";
  EXPECT_FALSE(run_command({.words = {}}));
  EXPECT_FALSE(run_command({.words = {"echo", std::string("a\0b", 3)}}));
}

TEST(Command, a_slow_program_is_killed_with_its_children) {
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

// Gone, or dead and not yet buried.
bool is_dead(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

TEST(Command, what_a_program_started_ends_with_its_time) {
  const auto result = run_command(
      {.words = {"sh", "-c", "sleep 60 & echo $!; exec sleep 60"}, .timeout = seconds(0.3)});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  ASSERT_GT(result->out.size(), 1u);
  const std::string pid = result->out.substr(0, result->out.size() - 1);
  for (int i = 0; i < 200 && !is_dead(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(is_dead(pid));
}

TEST(Command, a_grandchild_with_the_pipe_open_is_not_waited_for) {
  const auto result =
      run_command({.words = {"sh", "-c", "sleep 20 & echo $!"}, .timeout = seconds(15)});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->good());
  ASSERT_THAT(result->out, HasSubstr("\n"));
  EXPECT_TRUE(run_command({.words = {"kill", result->out.substr(0, result->out.size() - 1)}}));
}

TEST(Command, output_beyond_the_limit_is_dropped_and_said_so) {
  const auto result =
      run_command({.words = {"sh", "-c", "head -c 300000 /dev/zero"}, .output_bytes_max = 1000});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_TRUE(result->output_cut);
  EXPECT_FALSE(result->good());
  EXPECT_EQ(result->exit_code, 0);
}

TEST(Command, the_environment_is_added_to) {
  const auto result =
      run_command({.words = {"sh", "-c", "echo $ORRERY_X $HOME | wc -w; echo $ORRERY_X"},
                   .environment = {{"ORRERY_X", "set"}, {"HOME", "h"}}});
  ASSERT_TRUE(result);
  EXPECT_THAT(result->out, HasSubstr("set"));
  EXPECT_THAT(result->out, HasSubstr("2"));
}

TEST(Command, a_variable_that_is_set_anew_stands_once) {
  ::setenv("ORRERY_TEST_TWICE", "old", 1);
  const auto result =
      run_command({.words = {"env"}, .environment = {{"ORRERY_TEST_TWICE", "new"}}});
  ::unsetenv("ORRERY_TEST_TWICE");
  ASSERT_TRUE(result);
  EXPECT_THAT(result->out, HasSubstr("ORRERY_TEST_TWICE=new\n"));
  EXPECT_THAT(result->out, Not(HasSubstr("ORRERY_TEST_TWICE=old")));
}

TEST(Command, variables_can_be_kept_from_the_program) {
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

TEST(Command, as_text_shows_odd_words_quoted) {
  EXPECT_EQ(to_text(Command{.words = {"a", "b=1", "c d", "e\n"}}), "a b=1 \"c d\" \"e\\n\"");
}

}  // namespace
}  // namespace orrery::agent
