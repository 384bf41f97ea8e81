#include "app/cli/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "core/base/text.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
// Narrowest width of a report; some terminals report a width of 0 or 1.
constexpr std::size_t kNarrowest = 40;

// Set by the signal handler, which may touch nothing else.
volatile std::sig_atomic_t g_interrupted = 0;

// Signals that ask for an orderly end: Ctrl-C; `timeout`, Slurm and systemd; a terminal that
// closes; a reader that exits. Each means: stop, clean up, and print what there is.
constexpr std::array<int, 4> kEndings = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
// Time after which a verb that ignores the request is ended.
constexpr unsigned kPatience_s = 20;

// Set once the verb has asked whether it is interrupted. A verb that never asks only computes and
// has nothing to clean up: it is ended sooner, after Ctrl-C too.
volatile std::sig_atomic_t g_listens = 0;
constexpr unsigned kUnheard_s = 2;

void on_interrupt(int signal) {
  const bool listens = g_listens != 0;
  if (g_interrupted == 0 && (signal != SIGINT || !listens)) {
    ::alarm(listens ? kPatience_s : kUnheard_s);
  }
  g_interrupted = 1;
}

// The exit code is that of an interrupted verb, whichever signal came.
void end_unheard(int) { ::_exit(static_cast<int>(ExitCode::interrupted)); }

// Installs the handler for a signal. A signal that the parent ignores (nohup) stays ignored. A
// second signal of the same kind ends the process, except SIGPIPE, which comes with every line
// written to a closed pipe.
void listen_to(int signal) {
  struct sigaction before = {};
  if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) return;
  // No SA_RESTART: a read from a silent pipe must return so that the signal takes effect.
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  if (signal != SIGPIPE) action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(signal, &action, nullptr);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<Diagnostics> file_error(std::string code, const std::string& path, std::string what,
                                        std::string fix = {}) {
  return fail({.code = std::move(code),
               .place = {path, 0, 0},
               .what = std::move(what),
               .why = {},
               .fix = std::move(fix)});
}

std::string system_reason(int error) { return std::strerror(error); }

Result<std::string> read_to_limit(int fd, const std::string& path) {
  std::string text;
  std::array<char, kChunkBytes> chunk;
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got == 0) return text;
    if (got < 0) {
      if (errno == EINTR && g_interrupted == 0) continue;
      return file_error("file.unreadable", path, "cannot read: " + system_reason(errno));
    }
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kFileBytesMax) {
      return file_error("file.too-large", path, "more than 16 MiB of text",
                        "split the file, or keep traces in separate files");
    }
  }
}

// Returns the line of the first byte that is not UTF-8.
int first_bad_line(std::string_view text) {
  int line = 1;
  for (std::string_view part : split(text, '\n')) {
    if (!is_valid_utf8(part)) return line;
    ++line;
  }
  return line;
}

// Returns the width and colour for stdout: colour only on a terminal, not if NO_COLOR is set
// (https://no-color.org) or TERM is "dumb".
report::TextStyle style_of_output() {
  report::TextStyle style;
  if (::isatty(STDOUT_FILENO) != 1) return style;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  style.has_colour = (no_colour == nullptr || *no_colour == '\0') && kind != nullptr &&
                     std::string_view(kind) != "dumb";
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::max<std::size_t>(size.ws_col, kNarrowest);
  }
  return style;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const bool from_stdin = path == "-";
  const std::string name = from_stdin ? "<stdin>" : path;
  const Descriptor file(from_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return file_error("file.unreadable", name, "cannot open: " + system_reason(errno));
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return file_error("file.directory", name, "is a directory", "name a file");
  }
  Result<std::string> text = read_to_limit(file.get(), name);
  if (text && !is_valid_utf8(*text)) {
    return fail({.code = "file.not-utf8",
                 .place = {name, first_bad_line(*text), 1},
                 .what = "this line is not UTF-8 text",
                 .why = "a byte is invalid, or the file is binary or in another encoding",
                 .fix = "save it as UTF-8"});
  }
  return text;
}

Terminal process_terminal() {
  g_listens = 0;
  for (const int signal : kEndings) listen_to(signal);
  std::signal(SIGALRM, end_unheard);
  std::ios::sync_with_stdio(false);
  return {.out = std::cout,
          .err = std::cerr,
          .out_is_tty = ::isatty(STDOUT_FILENO) == 1,
          .err_is_tty = ::isatty(STDERR_FILENO) == 1,
          .style = style_of_output(),
          .read_file = read_text_file,
          .interrupted = [] {
            g_listens = 1;
            return g_interrupted != 0;
          }};
}

}  // namespace orrery::cli
