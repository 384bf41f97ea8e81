#include "live/net/transport.h"

namespace orrery::net {
namespace beast = boost::beast;
namespace http = beast::http;

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

namespace {

bool has_folded_line(std::string_view header) {
  for (auto at = header.find('\n'); at != header.npos; at = header.find('\n', at + 1)) {
    if (at + 1 < header.size() && (header[at + 1] == ' ' || header[at + 1] == '\t')) return true;
  }
  return false;
}

}  // namespace

std::size_t put_header(http::request_parser<http::empty_body>& parser,
                       const boost::asio::const_buffer& text, boost::system::error_code& error,
                       std::string_view& unclear) {
  const std::size_t taken = parser.put(text, error);
  if (error) return taken;
  const HeaderOnly& header = parser.get();
  const auto hosts = header.count(http::field::host);
  // The parser joins folded lines, so they are searched for in the raw bytes that it consumed.
  if (has_folded_line({static_cast<const char*>(text.data()), taken})) {
    unclear = "a header line is folded";
  } else if (hosts > 1) {
    unclear = "there is more than one Host header";
  } else if (hosts == 0 && header.version() >= 11) {
    unclear = "the Host header is missing";
  }
  return taken;
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
