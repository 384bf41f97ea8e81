// Runs a command line in a test: to its end, or in parallel while it serves.
#pragma once


#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <streambuf>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/answer_fixture.h"
#include "app/cli/verb.h"

namespace orrery::cli {

struct Circumstances {
  std::function<bool()> interrupted = [] { return false; };
  std::string stop_at = {};  // interrupt once the answer contains this
  bool err_is_tty = false;
  report::TextStyle style = {};
};

inline VerbAnswer spoken(const std::vector<std::string>& words, const Circumstances& given = {}) {
  std::ostringstream out, err;
  Terminal terminal{.out = out,
                    .err = err,
                    .err_is_tty = given.err_is_tty,
                    .style = given.style,
                    .read_file = read_text_file,
                    .interrupted = given.interrupted};
  if (!given.stop_at.empty()) {
    terminal.interrupted = [&] { return out.str().find(given.stop_at) != std::string::npos; };
  }
  const ExitCode code = run_command_line(all_verbs(), words, terminal);
  return {code, out.str(), err.str()};
}

// The codes of the diagnostics in `err`, in order: "usage.value file.missing".
inline std::string codes_in(const std::string& err) {
  std::string codes;
  for (std::size_t at = 0; (at = err.find(" [", at)) != std::string::npos; ++at) {
    const std::string code = err.substr(at + 2, err.find(']', at) - at - 2);
    codes += (codes.empty() ? "" : " ") + code;
  }
  return codes;
}

// "PLACE CODE" per diagnostic in `err`, without its words: "--streams usage.value".
inline std::vector<std::string> faults_in(const std::string& err) {
  std::vector<std::string> faults;
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    const std::string code = codes_in(line);
    if (!code.empty()) faults.push_back(line.substr(0, line.find(": ")) + ' ' + code);
  }
  return faults;
}

// Waits for the first complete line.
class LineBuffer final : public std::streambuf {
 public:
  std::string first_line() {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [this] { return is_over_ || text_.find('\n') != std::string::npos; });
    return text_.substr(0, text_.find('\n'));
  }
  std::string text() {
    const std::scoped_lock lock(mutex_);
    return text_;
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    is_over_ = true;
    told_.notify_all();
  }

 protected:
  int_type overflow(int_type c) override {
    const std::scoped_lock lock(mutex_);
    text_ += traits_type::to_char_type(c);
    if (c == '\n') told_.notify_all();
    return c;
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::string text_;
  bool is_over_ = false;
};

// A verb that serves until it is interrupted.
class VerbBeside {
 public:
  explicit VerbBeside(std::vector<std::string> words) {
    thread_ = std::thread([this, words = std::move(words)] {
      std::ostream out(&out_), err(&err_);
      Terminal terminal{.out = out, .err = err, .read_file = read_text_file, .interrupted = [this] {
                          return stop_.load();
                        }};
      code_ = run_command_line(all_verbs(), words, terminal);
      out_.end();
    });
  }
  ~VerbBeside() { end(); }
  VerbBeside(const VerbBeside&) = delete;
  VerbBeside& operator=(const VerbBeside&) = delete;

  std::string first_line() { return out_.first_line(); }
  VerbAnswer end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return {code_, out_.text(), err_.text()};
  }

 private:
  LineBuffer out_, err_;
  std::atomic<bool> stop_ = false;
  ExitCode code_ = ExitCode::internal;
  std::thread thread_;
};

// Sets an environment variable and restores it at destruction. Without a value, the variable is
// unset.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace orrery::cli
