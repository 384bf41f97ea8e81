// Plain sockets on loopback for tests: clients that send slowly, cut the connection or attack, and
// servers that fail.
//
// Blocking, with a limit on every wait, so that a hanging peer fails a test instead of blocking it.
// Not for product code: it includes system headers that only this room may use.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace orrery::net {

inline sockaddr_in loopback_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

class TestSocket {
 public:
  explicit TestSocket(int fd, int patience_s) : fd_(fd) {
    const int on = 1;
    const timeval patience{.tv_sec = patience_s, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // The result is not connected if the port does not answer.
  static TestSocket to(int port, int patience_s = 20, int receive_bytes = 0) {
    TestSocket s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), patience_s);
    if (receive_bytes > 0) {
      ::setsockopt(s.fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    const sockaddr_in address = loopback_address(port);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(s.fd_, generic, sizeof address) != 0) s.close();
    return s;
  }
  ~TestSocket() { close(); }
  TestSocket(TestSocket&& from) noexcept : fd_(std::exchange(from.fd_, -1)) {}
  TestSocket& operator=(TestSocket&& from) noexcept {
    std::swap(fd_, from.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  bool connected() const { return fd_ >= 0; }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Appends the next bytes. Returns false at the end, on a fault, or after the time limit.
  bool receive(std::string& into) const {
    char part[65536];
    const auto got = ::recv(fd_, part, sizeof part, 0);
    if (got > 0) into.append(part, static_cast<std::size_t>(got));
    return got > 0;
  }
  // Returns all bytes until the peer closes.
  std::string rest() const {
    std::string all;
    while (receive(all)) {
    }
    return all;
  }
  void shut() const { ::shutdown(fd_, SHUT_RDWR); }
  // Makes the peer see a reset instead of an orderly end.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

class TestListener {
 public:
  TestListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback_address(0);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (fd_ < 0 || ::bind(fd_, generic, size) != 0 || ::listen(fd_, 64) != 0 ||
        ::getsockname(fd_, generic, &size) != 0) {
      throw std::runtime_error("no port on loopback");
    }
    port_ = ntohs(address.sin_port);
  }
  ~TestListener() { ::close(fd_); }
  TestListener(const TestListener&) = delete;
  TestListener& operator=(const TestListener&) = delete;

  int port() const { return port_; }
  // The result is not connected once shut() has been called.
  TestSocket accept(int patience_s) const {
    return TestSocket(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC), patience_s);
  }
  void shut() const { ::shutdown(fd_, SHUT_RDWR); }

 private:
  int fd_ = -1;
  int port_ = 0;
};

// Returns whether the port is currently free at all addresses of this machine.
inline bool is_free(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address = loopback_address(port);
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return free;
}

// Returns a port that is currently free.
inline int free_port() { return TestListener().port(); }

}  // namespace orrery::net
