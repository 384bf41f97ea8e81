#include "net/transport.h"

#include <sstream>

namespace orrery::net {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

// A line break in a header's value would begin another header: such a one is not sent.
bool is_one_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

Pending pending_of(const HeaderOnly& from, const std::string& peer) {
  const auto text = [](beast::string_view s) { return std::string(s.data(), s.size()); };
  Pending to;
  to.request = {.method = text(from.method_string()), .target = text(from.target()), .peer = peer};
  for (const auto& field : from) {
    to.request.headers.emplace_back(text(field.name_string()), text(field.value()));
  }
  to.request.abandoned = [gone = to.gone] { return gone->load(); };
  to.version = from.version();
  to.keep_alive = from.keep_alive();
  to.head = from.method() == http::verb::head;
  to.go_on = from.version() >= 11 && beast::iequals(from[http::field::expect], "100-continue");
  return to;
}

TextResponse response_head(const Response& from, const ServerOptions& options, unsigned version,
                           bool keep_alive) {
  TextResponse to{static_cast<http::status>(from.status), version};
  to.set(http::field::server, "orrery");
  if (!from.content_type.empty()) to.set(http::field::content_type, from.content_type);
  for (const auto& [name, value] : options.default_headers) to.set(name, value);
  for (const auto& [name, value] : from.headers) to.erase(name);
  for (const auto& [name, value] : from.headers) {
    if (is_one_line(name) && is_one_line(value)) to.insert(name, value);
  }
  for (const auto& [name, value] : options.fixed_headers) to.set(name, value);
  to.keep_alive(keep_alive);
  return to;
}

std::string text_of(const TextResponse& head) {
  std::ostringstream text;
  text << head.base();
  return text.str();
}

std::optional<Refusal> answer_to_fault(const boost::system::error_code& error) {
  if (error == http::error::body_limit) return Refusal{413, "the body is too large"};
  if (error == http::error::header_limit) return Refusal{431, "the header is too large"};
  if (error.category() == http::make_error_code(http::error::bad_method).category() &&
      error != http::error::end_of_stream && error != http::error::partial_message) {
    return Refusal{400, "this is not HTTP"};
  }
  return std::nullopt;
}

}  // namespace orrery::net
