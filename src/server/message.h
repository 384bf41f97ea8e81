// A request and a response as values. Handlers turn one into the other and know nothing of sockets,
// so every route is tested as a function call; http_server.cpp is the only file that does I/O.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery {

struct Request {
  std::string method = "GET";
  std::string target = "/";  // as sent: path and query, still percent-encoded
  std::string host;
  std::string origin;  // empty when the client sent none
  std::string cookie;
  std::string authorization;
  std::string accept_encoding;
  std::string body;
  // True once the client has gone: nobody waits for the answer, so long work may stop.
  std::function<bool()> abandoned = [] { return false; };
};

// What a stream sends next: text, nothing for now (empty), or its end (nullopt). It is asked a few
// times a second on the thread of the sockets, so it must not take long.
using NextEvents = std::function<std::optional<std::string>()>;

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  NextEvents events = nullptr;  // instead of a body: server-sent events until they end
};

using Handler = std::function<Response(const Request&)>;

std::string_view path_of(const Request& request);
// The value of a query parameter as sent; empty when absent.
std::string_view query_value(const Request& request, std::string_view name);

Response json_response(std::string body, int status = 200);

}  // namespace orrery
