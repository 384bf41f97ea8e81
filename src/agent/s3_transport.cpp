#include "agent/s3_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace orrery {
namespace {

// Answers without their length are gathered as they come; what was asked for is reserved at most so
// far, since the server's word is not yet proven.
constexpr std::size_t kReserveMax = std::size_t{256} << 20;

struct Upload {
  std::string_view body;
  std::size_t at = 0;
};

struct Download {
  HttpReply* reply = nullptr;
  std::size_t bytes_max = 0;
};

std::size_t give_body(char* into, std::size_t size, std::size_t count, void* user) {
  auto& upload = *static_cast<Upload*>(user);
  const std::size_t n = std::min(size * count, upload.body.size() - upload.at);
  std::memcpy(into, upload.body.data() + upload.at, n);
  upload.at += n;
  return n;
}

// libcurl sends again by itself when a kept connection turns out to be closed.
int rewind_body(void* user, curl_off_t offset, int origin) {
  auto& upload = *static_cast<Upload*>(user);
  if (origin != SEEK_SET || offset < 0 || static_cast<std::size_t>(offset) > upload.body.size()) {
    return CURL_SEEKFUNC_FAIL;
  }
  upload.at = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t take_body(char* from, std::size_t size, std::size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  const std::size_t n = size * count;
  if (download.reply->body.size() + n > download.bytes_max) return 0;
  download.reply->body.append(from, n);
  return n;
}

std::size_t take_header(char* from, std::size_t size, std::size_t count, void* user) {
  auto& reply = *static_cast<Download*>(user)->reply;
  const std::string_view line(from, size * count);
  if (line.starts_with("HTTP/")) reply.headers.clear();  // of an earlier 100 Continue
  if (const auto colon = line.find(':'); colon != line.npos) {
    reply.headers.emplace_back(lowered(trimmed(line.substr(0, colon))),
                               std::string(trimmed(line.substr(colon + 1))));
  }
  return line.size();
}

HttpFault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpFault::none;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return HttpFault::not_sent;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpFault::timed_out;
    default:
      return HttpFault::broken;
  }
}

struct HandleEnd {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderLines = std::unique_ptr<curl_slist, ListEnd>;

HeaderLines lines_of(const HeaderList& headers) {
  curl_slist* lines = nullptr;
  // An empty value asks libcurl to leave out what it would send on its own.
  for (const auto& [name, value] : headers) {
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    lines = curl_slist_append(lines, line.c_str());
  }
  lines = curl_slist_append(lines, "Expect:");
  return HeaderLines(lines);
}

bool is_loopback(std::string_view url) {
  return url.find("://127.") != url.npos || url.find("://localhost") != url.npos ||
         url.find("://[::1]") != url.npos;
}

class CurlTransport {
 public:
  explicit CurlTransport(HttpLimits limits) : limits_(limits), handle_(curl_easy_init()) {}

  HttpReply operator()(const HttpRequest& request) {
    HttpReply reply;
    if (!handle_) {
      reply.fault = HttpFault::not_sent;
      reply.fault_text = "libcurl gave no handle";
      return reply;
    }
    Upload upload{request.body};
    Download download{&reply, limits_.body_bytes_max};
    const HeaderLines lines = lines_of(request.headers);
    char words[CURL_ERROR_SIZE] = "";
    curl_easy_reset(handle_.get());
    set_limits(request.url);
    set_method(request, upload);
    if (request.once) set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_HTTPHEADER, lines.get());
    set(CURLOPT_WRITEFUNCTION, take_body);
    set(CURLOPT_WRITEDATA, &download);
    set(CURLOPT_HEADERFUNCTION, take_header);
    set(CURLOPT_HEADERDATA, &download);
    set(CURLOPT_ERRORBUFFER, words);
    reply.body.reserve(std::min(request.expected_bytes, kReserveMax));
    const CURLcode code = curl_easy_perform(handle_.get());
    finish(reply, code, words);
    if (request.once) reply.reconnected = false;
    set(CURLOPT_ERRORBUFFER, nullptr);
    return reply;
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  void set_limits(const std::string& url) {
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);  // the path is signed as it stands
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connect_s * 1000));
    set(CURLOPT_LOW_SPEED_LIMIT, limits_.slow_bytes_per_s);
    set(CURLOPT_LOW_SPEED_TIME, limits_.slow_s);
    set(CURLOPT_BUFFERSIZE, 512L * 1024);
    set(CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
    if (is_loopback(url)) set(CURLOPT_PROXY, "");
  }

  void set_method(const HttpRequest& request, Upload& upload) {
    if (request.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (request.method == "PUT") {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_READFUNCTION, give_body);
      set(CURLOPT_READDATA, &upload);
      set(CURLOPT_SEEKFUNCTION, rewind_body);
      set(CURLOPT_SEEKDATA, &upload);
    } else if (request.method == "POST") {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.data() ? request.body.data() : "");
    } else if (request.method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }
  }

  void finish(HttpReply& reply, CURLcode code, const char* words) {
    long status = 0;
    curl_off_t first_us = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(handle_.get(), CURLINFO_STARTTRANSFER_TIME_T, &first_us);
    reply.status = static_cast<int>(status);
    reply.first_byte_s = static_cast<double>(first_us) * 1e-6;
    reply.fault = fault_of(code);
    long connects = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_NUM_CONNECTS, &connects);
    reply.reconnected = connected_ && connects > 0;
    connected_ = reply.fault == HttpFault::none && reply.header("connection") != "close";
    if (reply.fault != HttpFault::none) {
      reply.fault_text = *words ? words : curl_easy_strerror(code);
    }
  }

  HttpLimits limits_;
  std::unique_ptr<CURL, HandleEnd> handle_;
  bool connected_ = false;  // a kept connection should be there
};

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  const auto at = std::ranges::find(headers, name, &HeaderList::value_type::first);
  return at == headers.end() ? std::string_view() : std::string_view(at->second);
}

Transport curl_transport(HttpLimits limits) {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)kReady;
  auto transport = std::make_shared<CurlTransport>(limits);
  return [transport](const HttpRequest& request) { return (*transport)(request); };
}

}  // namespace orrery
