// `orrery store` as a child process of a test, and what a client knows about the keys that it
// wrote.
//
// The output on stderr is kept in an unnamed file and shown if a test fails.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "live/net/client.h"
#include "live/s3/client.h"

namespace orrery {

inline std::string binary() { return std::string(ORRERY_BINARY_DIR) + "/orrery"; }

class StoreProcess {
 public:
  explicit StoreProcess(const std::vector<std::string>& words,
                        const std::map<std::string, std::string>& environment = {}) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    said_ = ::memfd_create("stderr", MFD_CLOEXEC);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(said_, STDERR_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::setenv("ORRERY_ACCESS_KEY", "test", 1);
      ::setenv("ORRERY_SECRET_KEY", "secret", 1);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> arguments = {const_cast<char*>("orrery"), const_cast<char*>("store")};
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(binary().c_str(), arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    char byte = 0;
    while (::read(ends[0], &byte, 1) == 1 && byte != '\n') address_ += byte;
    ::close(ends[0]);
  }
  ~StoreProcess() {
    end(SIGKILL);
    ::close(said_);
  }
  StoreProcess(const StoreProcess&) = delete;
  StoreProcess& operator=(const StoreProcess&) = delete;

  int end(int with) {
    if (pid_ <= 0) return -1;
    ::kill(pid_, with);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  // For a process that ends by itself.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }
  // Returns the end of its output on stderr.
  std::string said() const {
    std::string text(std::size_t{16} << 10, '\0');
    const off_t size = ::lseek(said_, 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(text.size()));
    const ssize_t got = ::pread(said_, text.data(), text.size(), from);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    return text;
  }
  // Returns its state: "runs", "ended with 1", "killed by signal 11". A dying process closes its
  // sockets before it can be waited for, so this waits a moment.
  std::string state() {
    int status = 0;
    bool ended = false;
    for (int i = 0; i < 20 && !ended && pid_ > 0; ++i) {
      ended = ::waitpid(pid_, &status, WNOHANG) == pid_;
      if (!ended) ::usleep(100'000);
    }
    if (!ended) return "runs";
    pid_ = -1;
    return WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status))
                               : "ended with " + std::to_string(WEXITSTATUS(status));
  }

 private:
  pid_t pid_ = -1;
  int said_ = -1;
  std::string address_;
};

inline s3::Client client_of(const std::string& address) {
  s3::Config config{.endpoint = address, .bucket = "bucket", .credentials = {"test", "secret", ""}};
  config.retry.attempts_max = 1;
  return s3::Client(config);
}

// What is known about a key: the last acknowledged write, and writes that may have happened.
struct KnownKey {
  std::optional<std::string> kept;
  std::vector<std::optional<std::string>> may;
};
using KnownKeys = std::map<std::string, KnownKey>;

// Writes and removes one client's keys until the store dies.
void write_until_dead(const std::string& address, int who, int round, KnownKeys& mine);
// Checks that every key is as acknowledged, or as an unanswered write would have left it.
void check_all(const std::string& address, KnownKeys& all, int round);

// Sends a request that the client has no function for.
net::Reply ask_signed(const std::string& address, const std::string& method,
                      const std::string& path, const s3::HeaderList& query,
                      const std::string& body);
// Adds a rule that moves objects below w1/ to the cold tier at once.
bool set_move_rule(const std::string& address);

}  // namespace orrery
