#include "app/server/assets.h"

#include <array>
#include <span>
#include <utility>

#include "core/base/text.h"
#include "core/catalog/embedded.h"

namespace orrery::server {

std::span<const catalog::EmbeddedFile> console_files();  // generated from the build of the console
std::span<const catalog::EmbeddedFile> api_files();      // generated from docs/api

namespace {

// Policy of the console's page. The editor sets styles from script, so 'unsafe-inline' is allowed
// for styles only.
constexpr const char* kConsolePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
// Cache policy: names contain a digest of the content, so a cached file is never stale.
constexpr const char* kForEver = "private, max-age=31536000, immutable";

std::optional<std::string_view> find(std::span<const catalog::EmbeddedFile> files,
                                     std::string_view path) {
  for (const catalog::EmbeddedFile& file : files) {
    if (file.path == path) return file.text;
  }
  return std::nullopt;
}

std::string_view media_type(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTypes = {
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".json", "application/json"},
       {".map", "application/json"},
       {".svg", "image/svg+xml"},
       {".png", "image/png"},
       {".ico", "image/x-icon"},
       {".woff2", "font/woff2"}}};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

bool takes_gzip(const Request& request) {
  for (const std::string_view part : split(request.header("accept-encoding"), ',')) {
    const std::string_view coding = trimmed(part.substr(0, part.find(';')));
    const bool refused =
        part.find("q=0") != std::string_view::npos && part.find("q=0.") == std::string_view::npos;
    if ((coding == "gzip" || coding == "*") && !refused) return true;
  }
  return false;
}

std::optional<Response> file_response(const Request& request, const std::string& path) {
  const auto plain = find(console_files(), path);
  if (!plain) return std::nullopt;
  Response response{.status = 200, .content_type = std::string(media_type(path))};
  response.headers.emplace_back("Vary", "Accept-Encoding");
  const auto packed = find(console_files(), path + ".gz");
  if (packed && takes_gzip(request)) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.body = *packed;
  } else {
    response.body = *plain;
  }
  return response;
}

}  // namespace

bool has_console() { return find(console_files(), "index.html").has_value(); }

Response console_page(const Request& request) {
  Response response = file_response(request, "index.html").value_or(Response{.status = 404});
  response.headers.emplace_back("Content-Security-Policy", kConsolePolicy);
  return response;
}

std::optional<Response> console_asset(const Request& request, std::string_view name) {
  auto response = file_response(request, "assets/" + std::string(name));
  if (response) response->headers.emplace_back("Cache-Control", kForEver);
  return response;
}

std::string_view api_contract() { return find(api_files(), "openapi.yaml").value_or(""); }

}  // namespace orrery::server
