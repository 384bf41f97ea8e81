#include "agent/s3_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/digest.h"
#include "base/text.h"

namespace orrery {
namespace {

constexpr std::string_view kCrcHeader = "x-amz-meta-orrery-crc32c";
constexpr std::string_view kWriterHeader = "x-amz-meta-orrery-writer";

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

std::string crc_text(std::uint32_t crc) { return fmt::format("{:08x}", crc); }

std::string unquoted(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

// An ETag is the content's MD5 unless there were several parts or a key service encrypts.
bool etag_is_md5(const HttpReply& reply, std::string_view etag) {
  return etag.size() == 32 && etag.find_first_not_of("0123456789abcdef") == etag.npos &&
         !reply.header("x-amz-server-side-encryption").starts_with("aws:kms");
}

S3Head head_of(const HttpReply& reply) {
  return {.bytes = static_cast<std::uint64_t>(
              std::max<std::int64_t>(0, parse_integer(reply.header("content-length")).value_or(0))),
          .etag = unquoted(reply.header("etag")),
          .crc32c = std::string(reply.header(kCrcHeader)),
          .writer = std::string(reply.header(kWriterHeader))};
}

std::string check_stored(const HttpReply& reply, const S3Body& body) {
  const std::string etag = unquoted(reply.header("etag"));
  if (!etag_is_md5(reply, etag) || etag == to_hex(body.md5_raw)) return {};
  return "the store's ETag is not the MD5 of what was sent";
}

std::string check_whole(const HttpReply& reply) {
  const std::string_view crc = reply.header(kCrcHeader);
  if (!crc.empty()) {
    return crc == crc_text(crc32c(reply.body)) ? "" : "the body's CRC-32C is not the one stored";
  }
  const std::string etag = unquoted(reply.header("etag"));
  if (!etag_is_md5(reply, etag) || etag == to_hex(md5(reply.body))) return {};
  return "the body's MD5 is not the object's ETag";
}

bool can_be_checked(const HttpReply& reply) {
  return !reply.header(kCrcHeader).empty() || etag_is_md5(reply, unquoted(reply.header("etag")));
}

// A store may send more than was asked for if it says so (RFC 9110, 15.3.7); s3rver answers
// `bytes=0-0` with the whole object.
std::string check_range(const HttpReply& reply, std::uint64_t from, std::uint64_t count) {
  const std::uint64_t sent = reply.body.size();
  const std::string said = fmt::format("bytes {}-{}/", from, from + sent - 1);
  if (reply.status != 206 || sent == 0 || !reply.header("content-range").starts_with(said)) {
    return fmt::format("the answer is not the range asked for: {} bytes, {}", sent,
                       reply.header("content-range").substr(0, 60));
  }
  return sent >= count ? "" : fmt::format("the range has {} of {} bytes", sent, count);
}

// Some stores answer 200 and put the failure into the body.
std::string check_document(const HttpReply& reply, std::string_view root) {
  if (reply.body.find("<Error>") != reply.body.npos) {
    return "an error in a 200 answer: " + error_code(reply.body);
  }
  return reply.body.find('<' + std::string(root)) != reply.body.npos
             ? ""
             : fmt::format("the answer is no {}", root);
}

S3Fault fault_of(const HttpReply& reply, Fate fate) {
  if (fate == Fate::done) return S3Fault::corrupt;
  if (reply.fault != HttpFault::none) return S3Fault::unreachable;
  if (reply.status == 404) return S3Fault::absent;
  if (reply.status == 412) return S3Fault::precondition;
  return fate == Fate::refused ? S3Fault::refused : S3Fault::server;
}

bool fate_is_open(const S3Error& e) {
  return e.fault == S3Fault::unreachable || e.fault == S3Fault::server ||
         e.fault == S3Fault::corrupt;
}

}  // namespace

S3Body S3Body::of(std::string bytes) {
  S3Body body;
  body.sha256_hex = orrery::sha256_hex(bytes);
  body.md5_raw = md5(bytes);
  body.crc32c = orrery::crc32c(bytes);
  body.bytes = std::move(bytes);
  return body;
}

S3Client::S3Client(S3Config config, Transport transport, Sleep sleep,
                   std::function<std::string()> time)
    : config_(std::move(config)),
      transport_(std::move(transport)),
      sleep_(std::move(sleep)),
      time_(std::move(time)),
      jitter_(config_.seed, "s3/" + config_.writer),
      base_(config_.endpoint) {
  while (base_.ends_with('/')) base_.pop_back();
  host_ = base_.substr(std::min(base_.size(), base_.find("://") + 3));
}

S3Client::S3Client(S3Config config, HttpLimits limits)
    : S3Client(
          std::move(config), curl_transport(limits),
          [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); },
          time_now) {}

HttpRequest S3Client::signed_request(const Ask& ask) const {
  static const std::string kNoBody = sha256_hex("");
  SignatureInput input{.method = ask.method,
                       .path = '/' + uri_encoded(config_.bucket, false),
                       .query = ask.query,
                       .headers = ask.headers,
                       .payload = ask.body ? ask.body->sha256_hex : kNoBody,
                       .time = time_(),
                       .region = config_.region};
  if (!ask.key.empty()) input.path += '/' + uri_encoded(ask.key, true);
  input.headers.emplace_back("Host", host_);
  input.headers.emplace_back("x-amz-content-sha256", input.payload);
  input.headers.emplace_back("x-amz-date", input.time);
  if (!config_.credentials.session_token.empty()) {
    input.headers.emplace_back("x-amz-security-token", config_.credentials.session_token);
  }
  if (ask.body) input.headers.emplace_back("Content-MD5", to_base64(ask.body->md5_raw));
  HttpRequest request{.method = ask.method, .url = base_ + input.path, .headers = input.headers};
  if (!ask.query.empty()) request.url += '?' + canonical_query(ask.query);
  request.headers.emplace_back("Authorization", authorization(input, config_.credentials));
  if (ask.body) request.body = ask.body->bytes;
  request.expected_bytes = ask.expected_bytes;
  request.once = !ask.safe;
  return request;
}

void S3Client::wait(int failures, const HttpReply& reply) {
  const double ours = backoff_s(config_.retry, failures, jitter_);
  sleep_(std::min(config_.retry.cap_s, std::max(ours, retry_after_s(reply).value_or(0))));
  ++retries_;
}

S3Result<HttpReply> S3Client::perform(const Ask& ask) {
  for (int attempt = 1;; ++attempt) {
    HttpReply reply = transport_(signed_request(ask));
    reconnects_ += reply.reconnected ? 1 : 0;
    const Fate fate = fate_of(reply);
    std::string fault;
    if (fate == Fate::done && ask.check) fault = ask.check(reply);
    if (fate == Fate::done && fault.empty()) return reply;
    const bool again = fate == Fate::not_acted || (ask.safe && fate != Fate::refused);
    if (!again || attempt >= config_.retry.attempts_max) {
      return std::unexpected(error_of(ask, reply, fault, attempt));
    }
    wait(attempt - 1, reply);
  }
}

S3Error S3Client::error_of(const Ask& ask, const HttpReply& reply, const std::string& fault,
                           int attempts) const {
  S3Error error{.fault = fault_of(reply, fate_of(reply)),
                .operation = ask.method + ' ' + config_.bucket + '/' + ask.key,
                .status = reply.status,
                .code = error_code(reply.body),
                .detail = fault,
                .attempts = attempts};
  if (error.detail.empty()) error.detail = reply.fault_text;
  if (error.detail.empty()) error.detail = xml_text(reply.body, "Message").value_or("");
  return error;
}

HeaderList S3Client::own_metadata(std::uint32_t crc) const {
  return {{std::string(kCrcHeader), crc_text(crc)}, {std::string(kWriterHeader), config_.writer}};
}

S3Result<bool> S3Client::is_ours(const std::string& key, const S3Whole& whole) {
  const auto found = head(key);
  if (found) {
    return found->bytes == whole.bytes && found->crc32c == crc_text(whole.crc32c) &&
           found->writer == config_.writer;
  }
  if (found.error().fault == S3Fault::absent) return false;
  return std::unexpected(found.error());
}

S3Result<std::string> S3Client::put(const std::string& key, const S3Body& body) {
  const auto reply =
      perform({.method = "PUT",
               .key = key,
               .headers = own_metadata(body.crc32c),
               .body = &body,
               .check = [&body](const HttpReply& r) { return check_stored(r, body); }});
  if (!reply) return std::unexpected(reply.error());
  return unquoted(reply->header("etag"));
}

S3Result<std::string> S3Client::put_new(const std::string& key, const S3Body& body) {
  HeaderList headers = own_metadata(body.crc32c);
  headers.emplace_back("If-None-Match", "*");
  for (int attempt = 1;; ++attempt) {
    const auto reply =
        perform({.method = "PUT",
                 .key = key,
                 .headers = headers,
                 .body = &body,
                 .safe = false,
                 .check = [&body](const HttpReply& r) { return check_stored(r, body); }});
    if (reply) return unquoted(reply->header("etag"));
    S3Error error = reply.error();
    // After an answer that was lost, "already there" may be our own earlier attempt.
    const bool look = fate_is_open(error) || (attempt > 1 && error.fault == S3Fault::precondition);
    if (!look) return std::unexpected(error);
    const auto ours = is_ours(key, {body.bytes.size(), body.crc32c});
    if (!ours) return std::unexpected(ours.error());
    if (*ours) return to_hex(body.md5_raw);
    if (error.fault == S3Fault::precondition || attempt >= config_.retry.attempts_max) {
      error.attempts = attempt;
      return std::unexpected(error);
    }
    wait(attempt - 1, {});
  }
}

S3Result<S3Object> S3Client::get(const std::string& key, std::size_t expected_bytes) {
  auto reply = perform(
      {.method = "GET", .key = key, .expected_bytes = expected_bytes, .check = check_whole});
  if (!reply) return std::unexpected(reply.error());
  S3Object object{.head = head_of(*reply), .verified = can_be_checked(*reply)};
  object.first_byte_s = reply->first_byte_s;
  object.bytes = std::move(reply->body);
  return object;
}

S3Result<S3Object> S3Client::get_range(const std::string& key, std::uint64_t from,
                                       std::uint64_t count) {
  auto reply = perform({.method = "GET",
                        .key = key,
                        .headers = {{"Range", fmt::format("bytes={}-{}", from, from + count - 1)}},
                        .expected_bytes = count,
                        .check = [&](const HttpReply& r) { return check_range(r, from, count); }});
  if (!reply) return std::unexpected(reply.error());
  S3Object object{.head = head_of(*reply)};
  object.first_byte_s = reply->first_byte_s;
  object.bytes = std::move(reply->body);
  object.bytes.resize(count);
  return object;
}

S3Result<S3Head> S3Client::head(const std::string& key) {
  const auto reply = perform({.method = "HEAD", .key = key});
  if (!reply) return std::unexpected(reply.error());
  return head_of(*reply);
}

S3Result<bool> S3Client::remove(const std::string& key) {
  const auto reply = perform({.method = "DELETE", .key = key});
  if (reply || (reply.error().fault == S3Fault::absent && reply.error().code != "NoSuchBucket")) {
    return true;
  }
  return std::unexpected(reply.error());
}

S3Result<S3Page> S3Client::list(const std::string& prefix, const std::string& token, int keys_max) {
  HeaderList query = {
      {"list-type", "2"}, {"prefix", prefix}, {"max-keys", std::to_string(keys_max)}};
  if (!token.empty()) query.emplace_back("continuation-token", token);
  const auto reply =
      perform({.method = "GET", .key = "", .query = query, .check = [](const HttpReply& r) {
                 return check_document(r, "ListBucketResult");
               }});
  if (!reply) return std::unexpected(reply.error());
  S3Page page;
  std::size_t from = 0;
  while (const auto item = next_element(reply->body, "Contents", from)) {
    const auto bytes = parse_integer(xml_text(*item, "Size").value_or(""));
    page.entries.push_back({.key = xml_text(*item, "Key").value_or(""),
                            .bytes = static_cast<std::uint64_t>(bytes.value_or(0))});
  }
  if (xml_text(reply->body, "IsTruncated") == "true") {
    page.next = xml_text(reply->body, "NextContinuationToken").value_or("");
  }
  return page;
}

S3Result<bool> S3Client::create_bucket() {
  const auto reply = perform({.method = "PUT", .key = ""});
  if (reply || reply.error().code == "BucketAlreadyOwnedByYou" ||
      reply.error().code == "BucketAlreadyExists") {
    return true;
  }
  return std::unexpected(reply.error());
}

S3Result<std::string> S3Client::create_upload(const std::string& key, const S3Whole& whole) {
  const auto reply = perform({.method = "POST",
                              .key = key,
                              .query = {{"uploads", ""}},
                              .headers = own_metadata(whole.crc32c),
                              .check = [](const HttpReply& r) {
                                return check_document(r, "InitiateMultipartUploadResult");
                              }});
  if (!reply) return std::unexpected(reply.error());
  return xml_text(reply->body, "UploadId").value_or("");
}

S3Result<std::string> S3Client::upload_part(const std::string& key, const std::string& upload,
                                            int number, const S3Body& part) {
  const auto reply =
      perform({.method = "PUT",
               .key = key,
               .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
               .body = &part,
               .check = [&part](const HttpReply& r) { return check_stored(r, part); }});
  if (!reply) return std::unexpected(reply.error());
  return unquoted(reply->header("etag"));
}

S3Result<bool> S3Client::complete_upload(const std::string& key, const std::string& upload,
                                         const std::vector<S3Part>& parts, const S3Whole& whole) {
  std::string list = "<CompleteMultipartUpload>";
  for (const S3Part& p : parts) {
    list += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>&quot;{}&quot;</ETag></Part>",
                        p.number, xml_escaped(p.etag));
  }
  const S3Body body = S3Body::of(list + "</CompleteMultipartUpload>");
  for (int attempt = 1;; ++attempt) {
    const auto reply = perform({.method = "POST",
                                .key = key,
                                .query = {{"uploadId", upload}},
                                .headers = {{"Content-Type", "application/xml"}},
                                .body = &body,
                                .safe = false,
                                .check = [](const HttpReply& r) {
                                  return check_document(r, "CompleteMultipartUploadResult");
                                }});
    if (reply) return true;
    S3Error error = reply.error();
    // Gone after an answer that was lost: the earlier attempt may have completed it.
    const bool gone = attempt > 1 && error.fault == S3Fault::absent;
    if (!fate_is_open(error) && !gone) return std::unexpected(error);
    const auto ours = is_ours(key, whole);
    if (!ours) return std::unexpected(ours.error());
    if (*ours) return true;
    error.attempts = attempt;
    if (gone || attempt >= config_.retry.attempts_max) return std::unexpected(error);
    wait(attempt - 1, {});
  }
}

S3Result<bool> S3Client::abort_upload(const std::string& key, const std::string& upload) {
  const auto reply = perform({.method = "DELETE", .key = key, .query = {{"uploadId", upload}}});
  if (reply || reply.error().fault == S3Fault::absent) return true;
  return std::unexpected(reply.error());
}

}  // namespace orrery
