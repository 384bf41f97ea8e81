#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <optional>

namespace orrery {
namespace {

constexpr timeval kPatience{.tv_sec = 20, .tv_usec = 0};

std::optional<std::size_t> length_in(std::string_view head) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const std::size_t at = head.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t length = 0;
  std::from_chars(head.data() + at + kName.size(), head.data() + head.size(), length);
  return length;
}

}  // namespace

HttpClient::HttpClient(int port, std::string token)
    : port_(port), token_(std::move(token)), socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int at_once = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    socket_ = -1;
  }
}

HttpClient::~HttpClient() {
  if (socket_ >= 0) ::close(socket_);
}

bool HttpClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string HttpClient::request(std::string_view method, std::string_view target,
                                std::string_view body) const {
  std::string text;
  text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: 127.0.0.1:");
  text += std::to_string(port_);
  if (!token_.empty()) text += "\r\nAuthorization: Bearer " + token_;
  text += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return text.append(body);
}

HttpAnswer HttpClient::receive() {
  char chunk[65536];
  std::size_t head_end = 0;
  std::optional<std::size_t> length;
  while (true) {
    if (head_end == 0 && rest_.find("\r\n\r\n") != std::string::npos) {
      head_end = rest_.find("\r\n\r\n") + 4;
      length = length_in(std::string_view(rest_).substr(0, head_end));
    }
    if (head_end > 0 && length && rest_.size() >= head_end + *length) break;
    const auto got = ::recv(socket_, chunk, sizeof chunk, 0);
    if (got < 0 || (got == 0 && head_end == 0)) return {};
    if (got == 0) {  // a body that ends with its connection, or one that was cut
      if (length) return {};
      length = rest_.size() - head_end;
      break;
    }
    rest_.append(chunk, static_cast<std::size_t>(got));
  }
  HttpAnswer answer{.head = rest_.substr(0, head_end), .body = rest_.substr(head_end, *length)};
  if (answer.head.size() > 12) answer.status = std::atoi(answer.head.c_str() + 9);
  rest_.erase(0, head_end + *length);
  return answer;
}

HttpAnswer HttpClient::ask(std::string_view method, std::string_view target,
                           std::string_view body) {
  if (socket_ < 0 || !send(request(method, target, body))) return {};
  return receive();
}

HttpAnswer ask_once(int port, const std::string& token, std::string_view method,
                    std::string_view target, std::string_view body) {
  return HttpClient(port, token).ask(method, target, body);
}

}  // namespace orrery
