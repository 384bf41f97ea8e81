#include "live/s3/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3/hash.h"
#include "live/s3/receiver.h"
#include "live/s3/xml.h"

namespace orrery::s3 {
namespace {

// Largest object held in memory; S3 itself allows 5 GiB in one PUT.
constexpr std::size_t kHeldBytesMax = std::size_t{6} << 30;
// Upper limit of memory reserved in advance: the announced size may be wrong.
constexpr std::size_t kReserveMax = std::size_t{256} << 20;
// Answers that are held in memory are documents and errors.
constexpr std::size_t kDocumentBytesMax = std::size_t{16} << 20;
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

Head head_of(const net::Reply& reply) {
  return {.bytes = static_cast<std::uint64_t>(
              std::max<std::int64_t>(0, parse_integer(reply.header("content-length")).value_or(0))),
          .etag = unquoted(reply.header("etag")),
          .crc32c = std::string(reply.header(kCrcHeader)),
          .writer = std::string(reply.header(kWriterHeader))};
}

std::string check_stored(const net::Reply& reply, const Body& body) {
  const std::string etag = unquoted(reply.header("etag"));
  if (!etag_is_md5(reply, etag) || etag == to_hex(body.md5_raw)) return {};
  return "the ETag that the store returned is not the MD5 of the bytes that were sent";
}

// Some stores answer 200 and report the failure in the body.
std::string check_document(const net::Reply& reply, std::string_view name) {
  const auto root = read_xml(reply.body);
  if (root && root->name == name) return "";
  if (!root || root->name != "Error") return fmt::format("the answer is not a {} document", name);
  return "the answer has status 200 but reports an error: " + std::string(root->text_of("Code"));
}

// Returns the document. check_document() must have accepted it.
XmlElement document_of(const net::Reply& reply) {
  return read_xml(reply.body).value_or(XmlElement{});
}

Fault fault_of(const net::Reply& reply, Fate fate) {
  if (fate == Fate::done) return Fault::corrupt;
  if (reply.fault != net::NetFault::none) return Fault::unreachable;
  if (reply.status == 404) return Fault::absent;
  if (reply.status == 412) return Fault::precondition;
  return fate == Fate::refused ? Fault::refused : Fault::server;
}

bool fate_is_open(const Error& e) {
  return e.fault == Fault::unreachable || e.fault == Fault::server || e.fault == Fault::corrupt;
}

net::ClientOptions document_limited(net::ClientOptions options) {
  options.body_bytes_max = std::min(options.body_bytes_max, kDocumentBytesMax);
  return options;
}

}  // namespace

bool each_piece(std::uint64_t bytes, const net::BodySource& read,
                const std::function<void(std::string_view)>& visit) {
  std::string piece;
  for (std::uint64_t at = 0; at < bytes;) {
    piece.resize(std::min<std::uint64_t>(kReadBytes, bytes - at));
    const auto got = read(at, piece);
    if (!got || *got == 0) return false;
    visit(std::string_view(piece).substr(0, *got));
    at += *got;
  }
  return true;
}

Body Body::of(std::string bytes) {
  auto held = std::make_shared<const std::string>(std::move(bytes));
  Body body{.bytes = held->size(),
            .sha256_hex = s3::sha256_hex(*held),
            .md5_raw = md5(*held),
            .crc32c = orrery::crc32c(*held)};
  body.read = [held](std::uint64_t offset, std::span<char> into) {
    const std::size_t at = std::min<std::uint64_t>(offset, held->size());
    return std::optional(held->copy(into.data(), into.size(), at));
  };
  return body;
}

std::optional<Body> Body::of(std::uint64_t bytes, net::BodySource read) {
  Hash sha(HashKind::sha256);
  Hash md5(HashKind::md5);
  Body body{.bytes = bytes};
  const bool all = each_piece(bytes, read, [&](std::string_view piece) {
    sha.add(piece);
    md5.add(piece);
    body.crc32c = orrery::crc32c(piece, body.crc32c);
  });
  if (!all) return std::nullopt;
  body.sha256_hex = to_hex(sha.finish());
  body.md5_raw = md5.finish();
  body.read = std::move(read);
  return body;
}

Writer writer_into(std::string& into) {
  return {.take =
              [&into](std::string_view piece) {
                if (into.size() + piece.size() > kHeldBytesMax) return false;
                into += piece;
                return true;
              },
          .restart =
              [&into] {
                into.clear();
                return true;
              }};
}

Client::Client(Config config, net::Ask ask, Sleep sleep, std::function<std::string()> time)
    : config_(std::move(config)),
      ask_(std::move(ask)),
      sleep_(std::move(sleep)),
      time_(std::move(time)),
      jitter_(config_.seed, "s3/" + config_.writer),
      base_(config_.endpoint) {
  while (base_.ends_with('/')) base_.pop_back();
  host_ = base_.substr(std::min(base_.size(), base_.find("://") + 3));
}

Client::Client(Config config, net::ClientOptions options)
    : Client(
          std::move(config), net::over_network(document_limited(std::move(options))),
          [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); },
          time_now) {}

net::Question Client::signed_question(const Call& call) const {
  static const std::string kNoBody = sha256_hex("");
  SignatureInput input{.method = call.method,
                       .path = '/' + uri_encoded(config_.bucket, false),
                       .query = call.query,
                       .headers = call.headers,
                       .payload = call.body ? call.body->sha256_hex : kNoBody,
                       .time = time_(),
                       .region = config_.region};
  if (!call.key.empty()) input.path += '/' + uri_encoded(call.key, true);
  input.headers.emplace_back("Host", host_);
  input.headers.emplace_back("x-amz-content-sha256", input.payload);
  input.headers.emplace_back("x-amz-date", input.time);
  if (!config_.credentials.session_token.empty()) {
    input.headers.emplace_back("x-amz-security-token", config_.credentials.session_token);
  }
  if (call.body) input.headers.emplace_back("Content-MD5", to_base64(call.body->md5_raw));
  net::Question question{
      .method = call.method, .url = base_ + input.path, .headers = input.headers};
  if (!call.query.empty()) question.url += '?' + canonical_query(call.query);
  question.headers.emplace_back("Authorization", authorization(input, config_.credentials));
  if (call.body) question.source_bytes = call.body->bytes;
  question.once = !call.safe;
  return question;
}

void Client::wait(int failures, const net::Reply& reply) {
  const double ours = backoff_s(config_.retry, failures, jitter_);
  sleep_(std::min(config_.retry.cap_s, std::max(ours, retry_after_s(reply).value_or(0))));
  ++retries_;
}

Outcome<net::Reply> Client::perform(const Call& call) {
  bool unread = false;
  for (int attempt = 1;; ++attempt) {
    if (call.receiver && !call.receiver->begin()) {
      return std::unexpected(
          local_error(call, "the output could not be restarted for a retry", attempt));
    }
    net::Question question = signed_question(call);
    if (call.body) {
      question.source = [&](std::uint64_t offset, std::span<char> into) {
        const auto got = call.body->read(offset, into);
        unread = !got;
        return got;
      };
    }
    if (call.receiver) {
      question.take = [&](const net::Reply& head, std::string_view piece) {
        return call.receiver->take(head, piece);
      };
    }
    net::Reply reply = ask_(question);
    reconnects_ += reply.reconnected ? 1 : 0;
    if (unread || (call.receiver && call.receiver->gave_up())) {
      const char* what = unread ? "the bytes to be sent could not be read"
                                : "the received bytes could not be written";
      return std::unexpected(local_error(call, what, attempt));
    }
    const Fate fate = fate_of(reply);
    std::string fault;
    if (fate == Fate::done && call.receiver) fault = call.receiver->check(reply);
    if (fate == Fate::done && call.check) fault = call.check(reply);
    if (fate == Fate::done && fault.empty()) return reply;
    const bool again = fate == Fate::not_acted || (call.safe && fate != Fate::refused);
    if (!again || attempt >= config_.retry.attempts_max) {
      return std::unexpected(error_of(call, reply, fault, attempt));
    }
    wait(attempt - 1, reply);
  }
}

Error Client::local_error(const Call& call, const std::string& detail, int attempts) const {
  return {.fault = Fault::local,
          .operation = call.method + ' ' + config_.bucket + '/' + call.key,
          .detail = detail,
          .attempts = attempts};
}

Error Client::error_of(const Call& call, const net::Reply& reply, const std::string& fault,
                       int attempts) const {
  Error error{.fault = fault_of(reply, fate_of(reply)),
              .operation = call.method + ' ' + config_.bucket + '/' + call.key,
              .status = reply.status,
              .code = error_code(reply.body),
              .detail = fault,
              .attempts = attempts};
  if (error.detail.empty()) error.detail = reply.fault_text;
  if (error.detail.empty()) error.detail = error_message(reply.body);
  return error;
}

HeaderList Client::own_metadata(std::uint32_t crc) const {
  return {{std::string(kCrcHeader), crc_text(crc)}, {std::string(kWriterHeader), config_.writer}};
}

Outcome<bool> Client::is_ours(const std::string& key, const Whole& whole) {
  const auto found = head(key);
  if (found) {
    return found->bytes == whole.bytes && found->crc32c == crc_text(whole.crc32c) &&
           found->writer == config_.writer;
  }
  if (found.error().fault == Fault::absent) return false;
  return std::unexpected(found.error());
}

Outcome<std::string> Client::put(const std::string& key, const Body& body) {
  const auto reply =
      perform({.method = "PUT",
               .key = key,
               .headers = own_metadata(body.crc32c),
               .body = &body,
               .check = [&body](const net::Reply& r) { return check_stored(r, body); }});
  if (!reply) return std::unexpected(reply.error());
  return unquoted(reply->header("etag"));
}

Outcome<std::string> Client::put_new(const std::string& key, const Body& body) {
  HeaderList headers = own_metadata(body.crc32c);
  headers.emplace_back("If-None-Match", "*");
  for (int attempt = 1;; ++attempt) {
    const auto reply =
        perform({.method = "PUT",
                 .key = key,
                 .headers = headers,
                 .body = &body,
                 .safe = false,
                 .check = [&body](const net::Reply& r) { return check_stored(r, body); }});
    if (reply) return unquoted(reply->header("etag"));
    Error error = reply.error();
    // If an earlier answer was lost, "the object already exists" may be the result of our own
    // earlier attempt.
    const bool look = fate_is_open(error) || (attempt > 1 && error.fault == Fault::precondition);
    if (!look) return std::unexpected(error);
    const auto ours = is_ours(key, {body.bytes, body.crc32c});
    if (!ours) return std::unexpected(ours.error());
    if (*ours) return to_hex(body.md5_raw);
    if (error.fault == Fault::precondition || attempt >= config_.retry.attempts_max) {
      error.attempts = attempt;
      return std::unexpected(error);
    }
    wait(attempt - 1, {});
  }
}

Outcome<Object> Client::get(const std::string& key, const Writer& writer) {
  Receiver receiver(writer);
  const auto reply = perform({.method = "GET", .key = key, .receiver = &receiver});
  if (!reply) return std::unexpected(reply.error());
  return Object{.head = head_of(*reply),
                .first_byte_s = reply->first_byte_s,
                .verified = receiver.verified()};
}

Outcome<Object> Client::get(const std::string& key, std::size_t expected_bytes) {
  std::string bytes;
  bytes.reserve(std::min(expected_bytes, kReserveMax));
  auto object = get(key, writer_into(bytes));
  if (object) object->bytes = std::move(bytes);
  return object;
}

Outcome<Object> Client::get_range(const std::string& key, std::uint64_t from, std::uint64_t count,
                                  const Writer& writer) {
  Receiver receiver(writer, Receiver::Range{from, count});
  const auto reply =
      perform({.method = "GET",
               .key = key,
               .headers = {{"Range", fmt::format("bytes={}-{}", from, from + count - 1)}},
               .receiver = &receiver});
  if (!reply) return std::unexpected(reply.error());
  return Object{.head = head_of(*reply), .first_byte_s = reply->first_byte_s};
}

Outcome<Object> Client::get_range(const std::string& key, std::uint64_t from, std::uint64_t count) {
  std::string bytes;
  bytes.reserve(std::min<std::uint64_t>(count, kReserveMax));
  auto object = get_range(key, from, count, writer_into(bytes));
  if (object) object->bytes = std::move(bytes);
  return object;
}

Outcome<Head> Client::head(const std::string& key) {
  const auto reply = perform({.method = "HEAD", .key = key});
  if (!reply) return std::unexpected(reply.error());
  return head_of(*reply);
}

Outcome<bool> Client::remove(const std::string& key) {
  const auto reply = perform({.method = "DELETE", .key = key});
  if (reply || (reply.error().fault == Fault::absent && reply.error().code != "NoSuchBucket")) {
    return true;
  }
  return std::unexpected(reply.error());
}

Outcome<Page> Client::list(const std::string& prefix, const std::string& token, int keys_max) {
  HeaderList query = {
      {"list-type", "2"}, {"prefix", prefix}, {"max-keys", std::to_string(keys_max)}};
  if (!token.empty()) query.emplace_back("continuation-token", token);
  const auto reply =
      perform({.method = "GET", .key = "", .query = query, .check = [](const net::Reply& r) {
                 return check_document(r, "ListBucketResult");
               }});
  if (!reply) return std::unexpected(reply.error());
  const XmlElement root = document_of(*reply);
  Page page;
  for (const XmlElement& item : root.children) {
    if (item.name != "Contents") continue;
    const auto bytes = parse_integer(item.text_of("Size"));
    page.entries.push_back({.key = std::string(item.text_of("Key")),
                            .bytes = static_cast<std::uint64_t>(bytes.value_or(0)),
                            .etag = unquoted(item.text_of("ETag"))});
  }
  if (root.text_of("IsTruncated") == "true") page.next = root.text_of("NextContinuationToken");
  return page;
}

Outcome<std::string> Client::document(const std::string& key, const HeaderList& query) {
  auto reply = perform({.method = "GET", .key = key, .query = query});
  if (!reply) return std::unexpected(reply.error());
  return std::move(reply->body);
}

Outcome<bool> Client::create_bucket() {
  const auto reply = perform({.method = "PUT", .key = ""});
  if (reply || reply.error().code == "BucketAlreadyOwnedByYou" ||
      reply.error().code == "BucketAlreadyExists") {
    return true;
  }
  return std::unexpected(reply.error());
}

Outcome<std::string> Client::create_upload(const std::string& key, const Whole& whole) {
  const auto reply = perform({.method = "POST",
                              .key = key,
                              .query = {{"uploads", ""}},
                              .headers = own_metadata(whole.crc32c),
                              .check = [](const net::Reply& r) {
                                return check_document(r, "InitiateMultipartUploadResult");
                              }});
  if (!reply) return std::unexpected(reply.error());
  return std::string(document_of(*reply).text_of("UploadId"));
}

Outcome<std::string> Client::upload_part(const std::string& key, const std::string& upload,
                                         int number, const Body& part) {
  const auto reply =
      perform({.method = "PUT",
               .key = key,
               .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
               .body = &part,
               .check = [&part](const net::Reply& r) { return check_stored(r, part); }});
  if (!reply) return std::unexpected(reply.error());
  return unquoted(reply->header("etag"));
}

Outcome<bool> Client::complete_upload(const std::string& key, const std::string& upload,
                                      const std::vector<Part>& parts, const Whole& whole) {
  XmlElement list{.name = "CompleteMultipartUpload"};
  for (const Part& p : parts) {
    list.children.push_back({.name = "Part",
                             .children = {{.name = "PartNumber", .text = std::to_string(p.number)},
                                          {.name = "ETag", .text = '"' + p.etag + '"'}}});
  }
  const Body body = Body::of(write_xml(list));
  for (int attempt = 1;; ++attempt) {
    const auto reply = perform({.method = "POST",
                                .key = key,
                                .query = {{"uploadId", upload}},
                                .headers = {{"Content-Type", "application/xml"}},
                                .body = &body,
                                .safe = false,
                                .check = [](const net::Reply& r) {
                                  return check_document(r, "CompleteMultipartUploadResult");
                                }});
    if (reply) return true;
    Error error = reply.error();
    // If an earlier answer was lost and the upload is now gone, the earlier attempt may have
    // completed it.
    const bool gone = attempt > 1 && error.fault == Fault::absent;
    if (!fate_is_open(error) && !gone) return std::unexpected(error);
    const auto ours = is_ours(key, whole);
    if (!ours) return std::unexpected(ours.error());
    if (*ours) return true;
    error.attempts = attempt;
    if (gone || attempt >= config_.retry.attempts_max) return std::unexpected(error);
    wait(attempt - 1, {});
  }
}

Outcome<bool> Client::abort_upload(const std::string& key, const std::string& upload) {
  const auto reply = perform({.method = "DELETE", .key = key, .query = {{"uploadId", upload}}});
  if (reply || reply.error().fault == Fault::absent) return true;
  return std::unexpected(reply.error());
}

}  // namespace orrery::s3
