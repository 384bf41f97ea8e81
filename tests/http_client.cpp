#include "http_client.h"

#include <charconv>
#include <optional>

namespace orrery {
namespace {

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
    : port_(port), token_(std::move(token)), socket_(net::TestSocket::to(port)) {}

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
  std::size_t head_end = 0;
  std::optional<std::size_t> length;
  while (true) {
    if (head_end == 0 && rest_.find("\r\n\r\n") != std::string::npos) {
      head_end = rest_.find("\r\n\r\n") + 4;
      length = length_in(std::string_view(rest_).substr(0, head_end));
    }
    if (head_end > 0 && length && rest_.size() >= head_end + *length) break;
    if (socket_.receive(rest_)) continue;
    // The body ends with its connection, or it was cut off or did not arrive in time.
    if (head_end == 0 || length) return {};
    length = rest_.size() - head_end;
    break;
  }
  HttpAnswer answer{.head = rest_.substr(0, head_end), .body = rest_.substr(head_end, *length)};
  if (answer.head.size() > 12) answer.status = std::atoi(answer.head.c_str() + 9);
  rest_.erase(0, head_end + *length);
  return answer;
}

HttpAnswer HttpClient::ask(std::string_view method, std::string_view target,
                           std::string_view body) {
  if (!socket_.connected() || !send(request(method, target, body))) return {};
  return receive();
}

HttpAnswer ask_once(int port, const std::string& token, std::string_view method,
                    std::string_view target, std::string_view body) {
  return HttpClient(port, token).ask(method, target, body);
}

}  // namespace orrery
