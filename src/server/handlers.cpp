#include "server/handlers.h"

#include "base/text.h"
#include "report/document.h"
#include "server/problem.h"

namespace orrery {
namespace {

constexpr std::string_view kCatalog = "/api/v1/catalog";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kHtml = "text/html; charset=utf-8";

Response json(std::string body) {
  return {.status = 200, .content_type = std::string(kJson), .body = std::move(body)};
}

Response method_not_allowed(std::string_view allowed) {
  Response response = problem(405, "this address takes " + std::string(allowed));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

Response not_found() { return problem(404, "there is nothing at this address"); }

// A person reads this one, so the faults are a page too.
Response fault_page(const Diagnostics& diagnostics) {
  Document page;
  page.heading(1, "The design has errors");
  page.verbatim(to_text(diagnostics));
  return {.status = 422, .content_type = std::string(kHtml), .body = to_html(page)};
}

Response review(const Services& services) {
  const Result<std::string> page = services.review_page();
  if (!page) return fault_page(page.error());
  return {.status = 200, .content_type = std::string(kHtml), .body = *page};
}

Response plan(const Request& request, const Services& services) {
  if (!is_valid_utf8(request.body)) return problem(400, "the design is not UTF-8 text");
  Result<std::string> verdict = services.plan(request.body);
  if (!verdict) return problem(422, "the design has errors", verdict.error());
  return json(std::move(*verdict));
}

// Ids are lower case with hyphens, so nothing else can name a part: no decoding, no "..".
bool is_catalog_path(std::string_view path) {
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '/' ||
                       c == '_' || (c == '.' && path.find("..") == std::string_view::npos);
    if (!plain) return false;
  }
  return true;
}

Response catalog(std::string_view path, const Services& services) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (!is_catalog_path(path)) return not_found();
  std::optional<std::string> found = services.catalog(path);
  return found ? json(std::move(*found)) : not_found();
}

}  // namespace

Response handle(const Request& request, const Services& services) {
  const std::string_view path = path_of(request);
  const bool get = request.method == "GET" || request.method == "HEAD";
  if (path == "/api/v1/plan") {
    return request.method == "POST" ? plan(request, services) : method_not_allowed("POST");
  }
  const std::string_view below =
      path.starts_with(kCatalog) ? path.substr(kCatalog.size()) : std::string_view("-");
  const bool in_catalog = below.empty() || below.starts_with('/');
  if (path != "/" && path != "/healthz" && !in_catalog) return not_found();
  if (!get) return method_not_allowed("GET");
  if (path == "/healthz") return json("{\"status\":\"ok\"}\n");
  return in_catalog ? catalog(below, services) : review(services);
}

}  // namespace orrery
