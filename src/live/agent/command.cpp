#include "live/agent/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/base/json_writer.h"

extern char** environ;

namespace orrery::agent {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
// A grandchild may keep the pipes open after the program itself has ended; the agent does not wait
// for it.
constexpr int kReapPollMs = 20;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept { return std::swap(fd_, o.fd_), *this; }
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

bool open_pipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe.read = Descriptor(ends[0]);
  pipe.write = Descriptor(ends[1]);
  return true;
}

std::vector<std::string> environment_with(const Command& command) {
  std::vector<std::string> lines;
  for (char** at = environ; *at; ++at) {
    const std::string_view line = *at;
    const bool replaced = std::ranges::any_of(command.environment, [line](const auto& pair) {
      return line.starts_with(pair.first + "=");
    });
    const bool unwanted =
        std::ranges::any_of(command.environment_without,
                            [line](const std::string& prefix) { return line.starts_with(prefix); });
    if (!replaced && !unwanted) lines.emplace_back(line);
  }
  for (const auto& [name, value] : command.environment) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& lines) {
  std::vector<char*> out;
  for (std::string& line : lines) out.push_back(line.data());
  out.push_back(nullptr);
  return out;
}

// Everything the child needs, prepared before the fork: between fork and exec it must not allocate.
struct Child {
  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> argv;
  std::vector<char*> envp;
  pid_t parent = 0;
  int out = -1;
  int err = -1;
  int failure = -1;  // errno of the failure if the program could not be started
};

[[noreturn]] void become(const Child& child) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(127);  // the parent died before prctl()
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) ::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(child.out, STDOUT_FILENO) >= 0 &&
      ::dup2(child.err, STDERR_FILENO) >= 0) {
    ::execvpe(child.argv[0], child.argv.data(), child.envp.data());
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(child.failure, &error, sizeof error);
  ::_exit(127);
}

struct Stream {
  Descriptor end;
  std::string* text = nullptr;
  bool open() const { return end.get() >= 0; }
};

// Reads once from a stream that is ready. Bytes above the limit are read and dropped, so that the
// program does not block.
void drain(Stream& stream, std::size_t bytes_max, bool& cut) {
  std::array<char, kChunkBytes> chunk;
  const ssize_t got = ::read(stream.end.get(), chunk.data(), chunk.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return stream.end.close();
  const std::size_t room = bytes_max - std::min(bytes_max, stream.text->size());
  const std::size_t taken = std::min(room, static_cast<std::size_t>(got));
  stream.text->append(chunk.data(), taken);
  cut = cut || taken < static_cast<std::size_t>(got);
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class Running final : public RunningCommand {
 public:
  Running(pid_t pid, const Command& command, Descriptor out, Descriptor err)
      : pid_(pid),
        bytes_max_(command.output_bytes_max),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(command.timeout.base()))),
        streams_{Stream{std::move(out), &result_.out}, Stream{std::move(err), &result_.err}} {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() override {
    if (!done_) stop();
  }

  std::optional<CommandResult> poll() override { return step(0); }

  // Reads what is available; waits for `wait_ms` at most.
  std::optional<CommandResult> step(int wait_ms) {
    std::array<pollfd, 2> waits{};
    for (std::size_t i = 0; i < 2; ++i) waits[i] = {streams_[i].end.get(), POLLIN, 0};
    const int ready = ::poll(waits.data(), waits.size(), ended_ ? 0 : wait_ms);
    for (std::size_t i = 0; ready > 0 && i < 2; ++i) {
      if (waits[i].revents != 0) drain(streams_[i], bytes_max_, result_.output_cut);
    }
    if (ended_ && ready <= 0) return finish();
    if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    if (ended_ && !streams_[0].open() && !streams_[1].open()) return finish();
    if (Clock::now() < deadline_) return std::nullopt;
    result_.timed_out = !ended_;
    stop();
    return finish();
  }

 private:
  void stop() {
    ::kill(-pid_, SIGKILL);
    if (!ended_) ::waitpid(pid_, &status_, 0);
    ended_ = true;
  }
  CommandResult finish() {
    done_ = true;
    result_.exit_code = exit_code_of(status_);
    return std::move(result_);
  }

  pid_t pid_;
  std::size_t bytes_max_;
  Clock::time_point deadline_;
  CommandResult result_;
  std::array<Stream, 2> streams_;
  int status_ = 0;
  bool ended_ = false;
  bool done_ = false;
};

std::unexpected<Diagnostics> cannot_start(const Command& command, int error) {
  const std::string program = command.words.empty() ? "" : command.words.front();
  return fail({.code = "command.not-started",
               .place = {.file = program},
               .what = "cannot run " + json_escaped(program) + ": " + std::strerror(error),
               .why = {},
               .fix = error == ENOENT ? "install it, or add its folder to PATH" : ""});
}

}  // namespace

namespace {

Result<std::unique_ptr<Running>> launch(const Command& command) {
  const bool has_zero = std::ranges::any_of(
      command.words, [](const std::string& word) { return word.find('\0') != std::string::npos; });
  if (command.words.empty() || has_zero) return cannot_start(command, EINVAL);
  Pipe out, err, failure;
  if (!open_pipe(out) || !open_pipe(err) || !open_pipe(failure)) {
    return cannot_start(command, errno);
  }
  Child child{.words = command.words, .variables = environment_with(command)};
  child.argv = pointers_to(child.words);
  child.envp = pointers_to(child.variables);
  child.parent = ::getpid();
  child.out = out.write.get();
  child.err = err.write.get();
  child.failure = failure.write.get();
  const pid_t pid = ::fork();
  if (pid < 0) return cannot_start(command, errno);
  if (pid == 0) become(child);
  out.write.close();
  err.write.close();
  failure.write.close();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    ::waitpid(pid, nullptr, 0);
    return cannot_start(command, error);
  }
  return std::make_unique<Running>(pid, command, std::move(out.read), std::move(err.read));
}

}  // namespace

Result<std::unique_ptr<RunningCommand>> start_command(const Command& command) {
  auto running = launch(command);
  if (!running) return std::unexpected(running.error());
  return std::unique_ptr<RunningCommand>(std::move(*running));
}

Result<CommandResult> run_command(const Command& command) {
  auto running = launch(command);
  if (!running) return std::unexpected(running.error());
  while (true) {
    if (auto result = (*running)->step(kReapPollMs)) return std::move(*result);
  }
}

CommandRunner run_until(std::function<bool()> stop) {
  return [stop = std::move(stop)](const Command& command) -> Result<CommandResult> {
    auto running = launch(command);
    if (!running) return std::unexpected(running.error());
    while (true) {
      if (auto result = (*running)->step(kReapPollMs)) return std::move(*result);
      if (stop()) return CommandResult{.exit_code = 128 + SIGKILL, .timed_out = true};
    }
  };
}

std::string to_text(const Command& command) {
  std::string line;
  for (const std::string& word : command.words) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
      return c > ' ' && c < 127 && c != '"' && c != '\\' && c != '\'';
    });
    line += (line.empty() ? "" : " ") + (plain ? word : json_escaped(word));
  }
  return line;
}

}  // namespace orrery::agent
