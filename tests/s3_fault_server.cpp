#include "s3_fault_server.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3/hash.h"
#include "live/s3/xml.h"

namespace orrery {
namespace {

using net::HeaderList;
using s3::md5;
using s3::XmlElement;
using namespace std::chrono_literals;

constexpr int kPatienceSeconds = 5;
constexpr std::size_t kSlowPieces = 20;

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string value_of(const HeaderList& query, std::string_view name) {
  const auto at = std::ranges::find(query, name, &HeaderList::value_type::first);
  return at == query.end() ? "" : at->second;
}
bool has(const HeaderList& query, std::string_view name) {
  return std::ranges::find(query, name, &HeaderList::value_type::first) != query.end();
}

std::string error_document(std::string_view code) {
  return fmt::format(
      "<?xml version=\"1.0\"?><Error><Code>{}</Code><Message>as asked</Message>"
      "</Error>",
      code);
}

std::string header_or(const std::map<std::string, std::string>& headers, const std::string& name) {
  const auto at = headers.find(name);
  return at == headers.end() ? "" : at->second;
}

HeaderList metadata_in(const std::map<std::string, std::string>& headers) {
  HeaderList found;
  for (const auto& [name, value] : headers) {
    if (name.starts_with("x-amz-meta-")) found.emplace_back(name, value);
  }
  return found;
}

}  // namespace

S3FaultServer::S3FaultServer() : acceptor_([this] { accept_all(); }) {}

S3FaultServer::~S3FaultServer() {
  ending_ = true;
  listener_.shut();
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const net::TestSocket& s : sockets_) s.shut();
  }
  for (std::thread& w : workers_) w.join();
}

std::string S3FaultServer::endpoint() const {
  return fmt::format("http://127.0.0.1:{}", listener_.port());
}
s3::Credentials S3FaultServer::credentials() { return {"TESTKEY", "test/secret", ""}; }

void S3FaultServer::inject(StoreFault fault, int times, const std::string& method) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < times; ++i) faults_.push_back({fault, method});
}
int S3FaultServer::faults_left() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(faults_.size());
}
int S3FaultServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}
int S3FaultServer::conditional_writes() const {
  const std::lock_guard lock(mutex_);
  return conditional_writes_;
}
std::optional<std::string> S3FaultServer::object(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto at = objects_.find(key);
  return at == objects_.end() ? std::nullopt : std::optional(at->second.bytes);
}
std::size_t S3FaultServer::objects() const {
  const std::lock_guard lock(mutex_);
  return objects_.size();
}
std::size_t S3FaultServer::open_uploads() const {
  const std::lock_guard lock(mutex_);
  return uploads_.size();
}
void S3FaultServer::ignore_conditions() {
  const std::lock_guard lock(mutex_);
  conditions_ = false;
}

void S3FaultServer::accept_all() {
  while (!ending_) {
    net::TestSocket socket = listener_.accept(kPatienceSeconds);
    if (!socket.connected()) continue;
    const std::lock_guard lock(mutex_);
    net::TestSocket& kept = sockets_.emplace_back(std::move(socket));
    workers_.emplace_back([this, &kept] { serve(kept); });
  }
}

void S3FaultServer::serve(net::TestSocket& socket) {
  std::string buffer;
  while (!ending_) {
    const auto request = read_request(socket, buffer);
    if (!request || !answer(socket, *request)) break;
  }
  if (socket.connected()) socket.shut();
}

bool S3FaultServer::takes_reset(const Request& request) {
  const std::lock_guard lock(mutex_);
  const bool next = !faults_.empty() && faults_.front().fault == StoreFault::reset_upload;
  return next && fault_for(request) == StoreFault::reset_upload;
}

std::optional<S3FaultServer::Request> S3FaultServer::read_request(net::TestSocket& socket,
                                                                  std::string& buffer) {
  const auto more = [&] { return socket.receive(buffer); };
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == buffer.npos) {
    if (!more()) return std::nullopt;
  }
  Request request;
  const auto lines = split(std::string_view(buffer).substr(0, end), '\n');
  const auto words = split(trimmed(lines[0]), ' ');
  if (words.size() < 2) return std::nullopt;
  request.method = words[0];
  const std::string_view target = words[1];
  request.path = target.substr(0, target.find('?'));
  if (target.find('?') != target.npos) {
    for (const std::string_view item : split(target.substr(target.find('?') + 1), '&')) {
      const auto equals = std::min(item.size(), item.find('='));
      request.query.emplace_back(decoded(item.substr(0, equals)),
                                 decoded(item.substr(std::min(item.size(), equals + 1))));
    }
  }
  const std::string path = decoded(request.path);
  const auto slash = path.find('/', 1);
  if (slash != path.npos) request.key = path.substr(slash + 1);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto colon = lines[i].find(':');
    if (colon == lines[i].npos) continue;
    request.headers[lowered(trimmed(lines[i].substr(0, colon)))] =
        trimmed(lines[i].substr(colon + 1));
  }
  const auto length = static_cast<std::size_t>(
      parse_integer(header_or(request.headers, "content-length")).value_or(0));
  buffer.erase(0, end + 4);
  if (takes_reset(request)) {
    const std::lock_guard lock(mutex_);
    socket.reset();
    return std::nullopt;
  }
  while (buffer.size() < length) {
    if (!more()) return std::nullopt;
  }
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return request;
}

std::optional<StoreFault> S3FaultServer::fault_for(const Request& request) {
  const auto at = std::ranges::find_if(
      faults_, [&](const Pending& p) { return p.method.empty() || p.method == request.method; });
  if (at == faults_.end()) return std::nullopt;
  const StoreFault fault = at->fault;
  faults_.erase(at);
  return fault;
}

bool S3FaultServer::signature_holds(const Request& request) const {
  const std::string given = header_or(request.headers, "authorization");
  s3::SignatureInput input{.method = request.method,
                           .path = request.path,
                           .query = request.query,
                           .payload = header_or(request.headers, "x-amz-content-sha256"),
                           .time = header_or(request.headers, "x-amz-date"),
                           .region = "us-east-1"};
  const auto begin = given.find("SignedHeaders=");
  if (begin == given.npos || input.time.size() != 16) return false;
  const std::string_view names = std::string_view(given).substr(begin + 14);
  for (const std::string_view name : split(names.substr(0, names.find(',')), ';')) {
    input.headers.emplace_back(name, header_or(request.headers, std::string(name)));
  }
  const std::string md5_given = header_or(request.headers, "content-md5");
  return s3::authorization(input, credentials()) == given &&
         input.payload == s3::sha256_hex(request.body) &&
         (md5_given.empty() || md5_given == to_base64(md5(request.body)));
}

bool S3FaultServer::answer(net::TestSocket& socket, const Request& request) {
  Reply reply;
  std::optional<StoreFault> fault;
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
    fault = fault_for(request);
    static constexpr StoreFault kIdle[] = {StoreFault::drop_before, StoreFault::internal_error,
                                           StoreFault::slow_down, StoreFault::error_in_success};
    const bool acts = !fault || std::ranges::find(kIdle, *fault) == std::end(kIdle);
    if (acts) {
      reply = signature_holds(request) ? act(request)
                                       : Reply{403, error_document("SignatureDoesNotMatch")};
    }
  }
  if (fault == StoreFault::drop_before || fault == StoreFault::drop_after) return false;
  if (fault == StoreFault::internal_error || fault == StoreFault::error_after) {
    reply = {500, error_document("InternalError")};
  }
  if (fault == StoreFault::slow_down) reply = {503, error_document("SlowDown")};
  if (fault == StoreFault::error_in_success) reply = {200, error_document("InternalError")};
  if (fault == StoreFault::wrong_bytes && !reply.body.empty()) reply.body[0] ^= 1;
  if (fault == StoreFault::wrong_etag) {
    for (auto& [name, value] : reply.headers) {
      if (name == "ETag") value = '"' + std::string(32, '0') + '"';
    }
  }
  std::string head = fmt::format("HTTP/1.1 {} as-asked\r\n", reply.status);
  if (request.method != "HEAD") head += fmt::format("Content-Length: {}\r\n", reply.body.size());
  for (const auto& [name, value] : reply.headers) head += name + ": " + value + "\r\n";
  head += "\r\n";
  if (request.method == "HEAD") return socket.send(head);
  return socket.send(head) && send_body(socket, reply.body, fault);
}

// Returns false if nothing more may be sent over this connection.
bool S3FaultServer::send_body(net::TestSocket& socket, std::string_view body,
                              std::optional<StoreFault> fault) {
  const bool half = fault == StoreFault::truncated || fault == StoreFault::reset_body ||
                    fault == StoreFault::stall;
  if (half) body = body.substr(0, body.size() / 2);
  if (fault == StoreFault::slow) {
    const std::size_t piece = body.size() / kSlowPieces + 1;
    for (; !body.empty(); body.remove_prefix(std::min(piece, body.size()))) {
      if (!socket.send(body.substr(0, piece))) return false;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  const bool sent = socket.send(body);
  std::string ignored;
  if (fault == StoreFault::stall) socket.receive(ignored);  // until the client gives up
  if (fault == StoreFault::reset_body) {
    std::this_thread::sleep_for(20ms);  // otherwise the reset overtakes the sent bytes
    const std::lock_guard lock(mutex_);
    socket.reset();
  }
  return sent && !half;
}

S3FaultServer::Reply S3FaultServer::act(const Request& request) {
  const std::string upload = value_of(request.query, "uploadId");
  if (request.method == "PUT") return put(request);
  if (request.method == "POST" && has(request.query, "uploads")) {
    const std::string id = fmt::format("upload-{}", ++upload_count_);
    uploads_[id].metadata = metadata_in(request.headers);
    return {200, "<InitiateMultipartUploadResult><UploadId>" + id +
                     "</UploadId></InitiateMultipartUploadResult>"};
  }
  if (request.method == "POST") return complete(request, upload);
  if (request.method == "DELETE" && !upload.empty()) {
    return uploads_.erase(upload) ? Reply{204, ""} : Reply{404, error_document("NoSuchUpload")};
  }
  if (request.method == "DELETE") {
    objects_.erase(request.key);
    return {204, ""};
  }
  return has(request.query, "list-type") ? list(request) : get(request);
}

S3FaultServer::Reply S3FaultServer::put(const Request& request) {
  if (request.key.empty()) return {200, ""};
  const std::string etag = to_hex(md5(request.body));
  const std::string upload = value_of(request.query, "uploadId");
  if (!upload.empty()) {
    const auto at = uploads_.find(upload);
    if (at == uploads_.end()) return {404, error_document("NoSuchUpload")};
    at->second.bytes[std::stoi(value_of(request.query, "partNumber"))] = request.body;
    return {200, "", {{"ETag", '"' + etag + '"'}}};
  }
  const bool conditional = header_or(request.headers, "if-none-match") == "*";
  if (conditional && conditions_ && objects_.contains(request.key)) {
    return {412, error_document("PreconditionFailed")};
  }
  conditional_writes_ += conditional ? 1 : 0;
  objects_[request.key] = {request.body, etag, metadata_in(request.headers)};
  return {200, "", {{"ETag", '"' + etag + '"'}}};
}

S3FaultServer::Reply S3FaultServer::get(const Request& request) const {
  const auto at = objects_.find(request.key);
  if (at == objects_.end()) return {404, error_document("NoSuchKey")};
  Reply reply{200, at->second.bytes, at->second.metadata};
  reply.headers.emplace_back("ETag", '"' + at->second.etag + '"');
  if (request.method == "HEAD") {
    reply.headers.emplace_back("Content-Length", std::to_string(reply.body.size()));
  }
  const std::string range = header_or(request.headers, "range");
  if (range.starts_with("bytes=")) {
    const auto ends = split(std::string_view(range).substr(6), '-');
    const auto from = static_cast<std::size_t>(parse_integer(ends.at(0)).value_or(0));
    auto to = static_cast<std::size_t>(parse_integer(ends.at(1)).value_or(0));
    if (to == 0 && !reply.body.empty())
      to = reply.body.size() - 1;  // as s3rver interprets
                                   // `bytes=0-0`
    reply.headers.emplace_back("Content-Range",
                               fmt::format("bytes {}-{}/{}", from, to, reply.body.size()));
    reply.body = reply.body.substr(std::min(from, reply.body.size()), to - from + 1);
    reply.status = 206;
  }
  return reply;
}

S3FaultServer::Reply S3FaultServer::list(const Request& request) const {
  const std::string prefix = value_of(request.query, "prefix");
  const std::string token = value_of(request.query, "continuation-token");
  const auto keys_max = parse_integer(value_of(request.query, "max-keys")).value_or(1000);
  XmlElement body{.name = "ListBucketResult"};
  std::string last;
  bool truncated = false;
  std::int64_t count = 0;
  for (const auto& [key, object] : objects_) {
    if (!key.starts_with(prefix) || (!token.empty() && key <= token)) continue;
    truncated = count == keys_max;
    if (truncated) break;
    ++count;
    last = key;
    body.children.push_back(
        {.name = "Contents",
         .children = {{.name = "Key", .text = key},
                      {.name = "Size", .text = std::to_string(object.bytes.size())}}});
  }
  if (truncated) body.children.push_back({.name = "NextContinuationToken", .text = last});
  body.children.push_back({.name = "IsTruncated", .text = truncated ? "true" : "false"});
  return {200, s3::write_xml(body)};
}

S3FaultServer::Reply S3FaultServer::complete(const Request& request, const std::string& upload) {
  const auto at = uploads_.find(upload);
  if (at == uploads_.end()) return {404, error_document("NoSuchUpload")};
  Object object{.metadata = at->second.metadata};
  std::string digests;
  for (const auto& [number, bytes] : at->second.bytes) {
    object.bytes += bytes;
    digests += md5(bytes);
    if (request.body.find(to_hex(md5(bytes))) == request.body.npos) {
      return {400, error_document("InvalidPart")};
    }
  }
  object.etag = fmt::format("{}-{}", to_hex(md5(digests)), at->second.bytes.size());
  objects_[request.key] = object;
  uploads_.erase(at);
  return {200, "<CompleteMultipartUploadResult/>"};
}

}  // namespace orrery
