#include "app/cli/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/cli/spoken_fixture.h"
#include "app/cli/verb_fixture.h"
#include "bench/figure.h"
#include "live/agent/test_folder.h"

namespace orrery::cli {
namespace {

using TerminalVerb = VerbTest;

std::string code_of(const Result<std::string>& result) {
  return result ? "" : result.error().front().code;
}

TEST(Terminal, a_file_is_read) {
  const agent::TestFolder folder;
  folder.write("plain", "name: x\n");
  EXPECT_EQ(read_text_file(folder.at("plain")).value_or("?"), "name: x\n");
}

TEST(Terminal, unreadable_and_binary_files_are_refused) {
  EXPECT_EQ(code_of(read_text_file("/no/such/file")), "file.unreadable");
  const agent::TestFolder folder;
  EXPECT_EQ(code_of(read_text_file(folder.path())), "file.directory");
  folder.write("latin1", "name: x\nsite: caf\xe9\n");
  const Result<std::string> text = read_text_file(folder.at("latin1"));
  EXPECT_EQ(code_of(text), "file.not-utf8");
  EXPECT_EQ(text.error().front().place.line, 2);
}

TEST(Terminal, an_endless_file_stops_at_the_limit) {
  EXPECT_EQ(code_of(read_text_file("/dev/zero")), "file.too-large");
}

TEST(Terminal, an_endless_pipe_stops_at_the_limit) {
  const agent::TestFolder folder;
  const std::string path = folder.at("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&path] {
    const int fd = ::open(path.c_str(), O_WRONLY);
    const std::string chunk(65536, '[');
    ::signal(SIGPIPE, SIG_IGN);
    while (::write(fd, chunk.data(), chunk.size()) > 0) {
    }
    ::close(fd);
  });
  EXPECT_EQ(code_of(read_text_file(path)), "file.too-large");
  writer.join();
}

// Makes standard output a terminal with this many columns (0: unknown) until destruction; also
// restores the signal handlers.
class OutputOnTerminal {
 public:
  explicit OutputOnTerminal(unsigned short columns) {
    std::cout.flush();
    before_ = ::dup(STDOUT_FILENO);
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ::grantpt(master_);
    ::unlockpt(master_);
    const int slave = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    winsize size = {};
    size.ws_col = columns;
    ::ioctl(slave, TIOCSWINSZ, &size);
    ::dup2(slave, STDOUT_FILENO);
    ::close(slave);
  }
  ~OutputOnTerminal() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
    ::close(master_);
  }

 private:
  int before_ = -1, master_ = -1;
};

class OutputOnPipe {
 public:
  OutputOnPipe() : before_(::dup(STDOUT_FILENO)) {
    const int null = ::open("/dev/null", O_WRONLY);
    ::dup2(null, STDOUT_FILENO);
    ::close(null);
  }
  ~OutputOnPipe() {
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

class ProcessTerminal : public testing::Test {
 protected:
  ProcessTerminal() {
    for (std::size_t i = 0; i < 4; ++i) ::sigaction(kSignals[i], nullptr, &before_[i]);
  }
  ~ProcessTerminal() override {
    for (std::size_t i = 0; i < 4; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  struct sigaction before_[4] = {};
};

struct Styled {
  bool out_is_tty;
  report::TextStyle style;
};

Styled styled(unsigned short columns) {
  const OutputOnTerminal screen(columns);
  const Terminal terminal = process_terminal();
  return {terminal.out_is_tty, terminal.style};
}

TEST_F(ProcessTerminal, width_is_that_of_the_screen_but_at_least_40) {
  const Variable kind("TERM", "xterm");
  const Variable plain("NO_COLOR", std::nullopt);
  const Styled wide = styled(133);
  EXPECT_TRUE(wide.out_is_tty);
  EXPECT_EQ(wide.style.width, 133U);
  EXPECT_EQ(styled(40).style.width, 40U);
  EXPECT_EQ(styled(41).style.width, 41U);
  EXPECT_EQ(styled(1).style.width, 40U);
  const Styled unknown = styled(0);
  EXPECT_EQ(unknown.style.width, report::kTextWidth);
}

TEST_F(ProcessTerminal, colour_follows_term_and_no_color) {
  const auto colour = [](const std::optional<std::string>& kind,
                         const std::optional<std::string>& none) {
    const Variable term("TERM", kind);
    const Variable no_colour("NO_COLOR", none);
    return styled(80).style.has_colour;
  };
  EXPECT_TRUE(colour("xterm", std::nullopt));
  EXPECT_TRUE(colour("xterm", ""));
  EXPECT_FALSE(colour("xterm", "1"));
  EXPECT_FALSE(colour("dumb", std::nullopt));
  EXPECT_FALSE(colour(std::nullopt, std::nullopt));
}

TEST_F(ProcessTerminal, a_pipe_is_plain) {
  const Variable kind("TERM", "xterm");
  const OutputOnPipe pipe;
  const Terminal terminal = process_terminal();
  EXPECT_FALSE(terminal.out_is_tty);
  EXPECT_FALSE(terminal.style.has_colour);
  EXPECT_EQ(terminal.style.width, report::kTextWidth);
  EXPECT_FALSE(terminal.interrupted());
}

TEST_F(ProcessTerminal, ignored_signals_stay_ignored) {
  ::signal(SIGHUP, SIG_IGN);  // as nohup does
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  process_terminal();
  struct sigaction now = {};
  ::sigaction(SIGHUP, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM}) {
    ::sigaction(signal, nullptr, &now);
    EXPECT_NE(now.sa_handler, SIG_DFL);
    EXPECT_NE(now.sa_flags & static_cast<int>(SA_RESETHAND), 0);
    EXPECT_EQ(now.sa_flags & SA_RESTART, 0);
  }
  ::signal(SIGPIPE, SIG_DFL);
  process_terminal();
  ::sigaction(SIGPIPE, nullptr, &now);
  EXPECT_NE(now.sa_handler, SIG_DFL);
  EXPECT_EQ(now.sa_flags & static_cast<int>(SA_RESETHAND), 0);
}

// Runs in a child process, because an interrupt stays in effect for the rest of a process.
template <class Act>
int in_a_child(const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST_F(ProcessTerminal, the_first_signal_interrupts_and_the_second_ends) {
  const auto struck_by = [](int signal, int times) {
    return in_a_child([=] {
      for (const int each : kSignals) ::signal(each, SIG_DFL);
      const Terminal terminal = process_terminal();
      const bool before = terminal.interrupted();
      for (int i = 0; i < times; ++i) ::raise(signal);
      const unsigned left = ::alarm(0);
      return (before ? 1 : 0) + (terminal.interrupted() ? 2 : 0) + (left > 15 ? 4 : 0) +
             (left > 20 ? 8 : 0);
    });
  };
  EXPECT_EQ(struck_by(SIGINT, 0), 0);
  EXPECT_EQ(struck_by(SIGINT, 1), 2);
  EXPECT_EQ(struck_by(SIGTERM, 1), 2 + 4);
  EXPECT_EQ(struck_by(SIGPIPE, 2), 2 + 4);
  EXPECT_EQ(struck_by(SIGINT, 2), 100 + SIGINT);
  EXPECT_EQ(struck_by(SIGTERM, 2), 100 + SIGTERM);
}

// A verb that never asks has nothing to clean up.
TEST_F(ProcessTerminal, a_verb_that_does_not_listen_is_ended_after_two_seconds) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto left = [signal](bool ends) {
      return in_a_child([=] {
        for (const int each : kSignals) ::signal(each, SIG_DFL);
        const Terminal terminal = process_terminal();
        ::raise(signal);
        if (ends) ::raise(SIGALRM);
        return static_cast<int>(::alarm(0));
      });
    };
    EXPECT_EQ(left(false), 2) << signal;
    EXPECT_EQ(left(true), static_cast<int>(ExitCode::interrupted)) << signal;
  }
}

bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string pid, name, state;
  file >> pid >> name >> state;
  return state == "S";
}

// A timer or an ending child process may interrupt a read; this is not the end of the text.
TEST(Terminal, an_interrupted_read_continues) {
  const agent::TestFolder folder;
  const std::string path = folder.at("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &before);
  std::atomic<pid_t> id = 0;
  std::atomic<bool> ended = false;
  Result<std::string> text = std::string();
  std::thread reader([&] {
    id = ::gettid();
    text = read_text_file(path);
    ended = true;
  });
  const int fd = ::open(path.c_str(), O_WRONLY);
  const auto wait_for_the_read = [&] {
    while (!ended && (id == 0 || !is_asleep(id))) std::this_thread::yield();
  };
  for (int i = 0; i < 3; ++i) {
    wait_for_the_read();
    ::pthread_kill(reader.native_handle(), SIGUSR1);
  }
  wait_for_the_read();
  if (!ended) EXPECT_EQ(::write(fd, "whole", 5), 5);
  ::close(fd);
  reader.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(text.value_or("broken"), "whole");
}

TEST(Terminal, the_size_limit_is_inclusive) {
  const agent::TestFolder folder;
  folder.write("most", std::string(kFileBytesMax, 'x'));
  EXPECT_EQ(read_text_file(folder.at("most")).value_or("").size(), kFileBytesMax);
  folder.write("more", std::string(kFileBytesMax + 1, 'x'));
  const auto more = read_text_file(folder.at("more"));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().front().code, "file.too-large");
  EXPECT_EQ(more.error().front().place.line, 0);
  EXPECT_EQ(kFileBytesMax, std::size_t{16} * 1024 * 1024);
}

TEST_F(TerminalVerb, an_invalid_line_is_named) {
  const std::string path = put("bad.yaml", "orrery: 1\nname: x\nlatin: caf\xe9\n");
  const auto text = read_text_file(path);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().front().code, "file.not-utf8");
  EXPECT_EQ(text.error().front().place.line, 3);
}

}  // namespace
}  // namespace orrery::cli
