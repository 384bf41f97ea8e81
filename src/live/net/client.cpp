#include "live/net/client.h"

#include <curl/curl.h>

#include <algorithm>

#include "core/base/text.h"

namespace orrery::net {
namespace {

// An answer is collected as it arrives. At most this much memory is reserved in advance for the
// expected size, because the server may send less.
constexpr std::size_t kReserveMax = std::size_t{256} << 20;
constexpr long kTransferBytes = 512L * 1024;

struct Upload {
  BodySource source;
  std::uint64_t at = 0;
};

struct Download {
  CURL* handle = nullptr;
  Reply* reply = nullptr;
  const TakePiece* take = nullptr;
  std::size_t bytes_max = 0;
};

// An exception must not pass through libcurl, so it ends the request instead.
template <class Call, class Value>
Value or_else(Value fault, Call call) {
  try {
    return call();
  } catch (const std::exception&) {
    return fault;
  }
}

std::size_t give_body(char* into, std::size_t size, std::size_t count, void* user) {
  auto& upload = *static_cast<Upload*>(user);
  return or_else(std::size_t{CURL_READFUNC_ABORT}, [&]() -> std::size_t {
    const auto got = upload.source(upload.at, {into, size * count});
    if (!got || *got > size * count) return CURL_READFUNC_ABORT;
    upload.at += *got;
    return *got;
  });
}

// libcurl resends by itself when a kept connection turns out to be closed.
int rewind_body(void* user, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
  static_cast<Upload*>(user)->at = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

std::size_t take_body(char* from, std::size_t size, std::size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  Reply& reply = *download.reply;
  const std::size_t n = size * count;
  return or_else(std::size_t{0}, [&]() -> std::size_t {
    const bool good = reply.status >= 200 && reply.status < 300;
    if (good && *download.take) return (*download.take)(reply, {from, n}) ? n : 0;
    if (reply.body.size() + n > download.bytes_max) return 0;
    reply.body.append(from, n);
    return n;
  });
}

std::size_t take_header(char* from, std::size_t size, std::size_t count, void* user) {
  auto& download = *static_cast<Download*>(user);
  Reply& reply = *download.reply;
  const std::string_view line(from, size * count);
  if (line.starts_with("HTTP/")) {  // perhaps after a 100 Continue
    long status = 0;
    curl_easy_getinfo(download.handle, CURLINFO_RESPONSE_CODE, &status);
    reply.status = static_cast<int>(status);
    reply.headers.clear();
  }
  if (const auto colon = line.find(':'); colon != line.npos) {
    reply.headers.emplace_back(lowered(trimmed(line.substr(0, colon))),
                               std::string(trimmed(line.substr(colon + 1))));
  }
  return line.size();
}

NetFault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return NetFault::none;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
      return NetFault::not_sent;
    case CURLE_PEER_FAILED_VERIFICATION:
      return NetFault::untrusted;
    case CURLE_OPERATION_TIMEDOUT:
      return NetFault::timed_out;
    default:
      return NetFault::broken;
  }
}

struct ListEnd {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderLines = std::unique_ptr<curl_slist, ListEnd>;

HeaderLines lines_of(const Question& question) {
  curl_slist* lines = nullptr;
  // A semicolon makes libcurl send a header although its value is empty.
  for (const auto& [name, value] : question.headers) {
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    lines = curl_slist_append(lines, line.c_str());
  }
  lines = curl_slist_append(lines, question.ask_first ? "Expect: 100-continue" : "Expect:");
  return HeaderLines(lines);
}

bool is_loopback(std::string_view url) {
  return url.find("://127.") != url.npos || url.find("://localhost") != url.npos ||
         url.find("://[::1]") != url.npos;
}

}  // namespace

struct Client::Parts {
  struct HandleEnd {
    void operator()(CURL* ended) const { curl_easy_cleanup(ended); }
  };
  ClientOptions options;
  std::unique_ptr<CURL, HandleEnd> handle = nullptr;
  bool connected = false;  // whether a kept connection should exist

  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(handle.get(), option, value);
  }
  void set_limits(const std::string& url);
  void set_trust();
  void set_method(const Question& question, Upload& upload);
  void finish(Reply& reply, CURLcode code, const char* words);
};

void Client::Parts::set_limits(const std::string& url) {
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);  // do not rewrite the path: it may be part of a signature
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_s * 1000));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.total_s * 1000));
  set(CURLOPT_LOW_SPEED_LIMIT, options.slow_bytes_per_s);
  set(CURLOPT_LOW_SPEED_TIME, options.slow_s);
  set(CURLOPT_BUFFERSIZE, kTransferBytes);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kTransferBytes);
  if (is_loopback(url)) set(CURLOPT_PROXY, "");
}

void Client::Parts::set_trust() {
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (options.trusted.empty()) return;
  curl_blob blob{
      .data = options.trusted.data(), .len = options.trusted.size(), .flags = CURL_BLOB_NOCOPY};
  set(CURLOPT_CAINFO_BLOB, &blob);
}

void Client::Parts::set_method(const Question& question, Upload& upload) {
  const bool sends = question.method == "PUT" || question.method == "POST" || question.source;
  if (question.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (sends) {
    const bool open = question.source && !question.source_bytes;
    const std::uint64_t bytes =
        question.source ? question.source_bytes.value_or(0) : question.body.size();
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, open ? curl_off_t{-1} : static_cast<curl_off_t>(bytes));
    set(CURLOPT_READFUNCTION, give_body);
    set(CURLOPT_READDATA, &upload);
    set(CURLOPT_SEEKFUNCTION, rewind_body);
    set(CURLOPT_SEEKDATA, &upload);
  }
  if (question.method != "GET" && question.method != "HEAD" && question.method != "PUT") {
    set(CURLOPT_CUSTOMREQUEST, question.method.c_str());
  }
}

void Client::Parts::finish(Reply& reply, CURLcode code, const char* words) {
  long status = 0;
  curl_off_t first_us = 0;
  long connects = 0;
  long sent = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(handle.get(), CURLINFO_STARTTRANSFER_TIME_T, &first_us);
  curl_easy_getinfo(handle.get(), CURLINFO_NUM_CONNECTS, &connects);
  curl_easy_getinfo(handle.get(), CURLINFO_REQUEST_SIZE, &sent);
  reply.status = static_cast<int>(status);
  reply.first_byte_s = static_cast<double>(first_us) * 1e-6;
  reply.fault = fault_of(code);
  // curl reports an answer that is not HTTP as an invalid address, but the server has received the
  // request.
  if (reply.fault == NetFault::not_sent && sent > 0) reply.fault = NetFault::broken;
  reply.reconnected = connected && connects > 0;
  connected = reply.fault == NetFault::none && reply.header("connection") != "close";
  if (reply.fault != NetFault::none) reply.fault_text = *words ? words : curl_easy_strerror(code);
}

Client::Client(ClientOptions options) {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)kReady;
  parts_ = std::make_unique<Parts>(std::move(options));
  parts_->handle.reset(curl_easy_init());
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Reply Client::ask(const Question& question) {
  Reply reply;
  CURL* handle = parts_->handle.get();
  if (!handle) {
    reply.fault = NetFault::not_sent;
    reply.fault_text = "libcurl could not create a handle";
    return reply;
  }
  Upload upload{question.source ? question.source : source_of(question.body)};
  Download download{handle, &reply, &question.take, parts_->options.body_bytes_max};
  const HeaderLines lines = lines_of(question);
  char words[CURL_ERROR_SIZE] = "";
  curl_easy_reset(handle);
  parts_->set_limits(question.url);
  parts_->set_trust();
  parts_->set_method(question, upload);
  if (question.once) parts_->set(CURLOPT_FRESH_CONNECT, 1L);
  parts_->set(CURLOPT_HTTPHEADER, lines.get());
  parts_->set(CURLOPT_WRITEFUNCTION, take_body);
  parts_->set(CURLOPT_WRITEDATA, &download);
  parts_->set(CURLOPT_HEADERFUNCTION, take_header);
  parts_->set(CURLOPT_HEADERDATA, &download);
  parts_->set(CURLOPT_ERRORBUFFER, words);
  reply.body.reserve(std::min(question.expected_bytes, kReserveMax));
  parts_->finish(reply, curl_easy_perform(handle), words);
  if (question.once) reply.reconnected = false;
  parts_->set(CURLOPT_ERRORBUFFER, nullptr);
  return reply;
}

Ask over_network(ClientOptions options) {
  auto client = std::make_shared<Client>(std::move(options));
  return [client](const Question& question) { return client->ask(question); };
}

}  // namespace orrery::net
