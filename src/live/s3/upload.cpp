// Uploads of large objects in parts, and the texts for S3 addresses, errors and environment
// variables.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3/client.h"

namespace orrery::s3 {
namespace {

// S3 allows at most 10,000 parts.
constexpr std::size_t kPartsMax = 10'000;

Error stopped(const std::string& key) {
  return {.fault = Fault::refused, .operation = "PUT " + key, .detail = "interrupted"};
}

Error unread(const std::string& key) {
  return {.fault = Fault::local,
          .operation = "PUT " + key,
          .detail = "the bytes to be sent could not be read"};
}

std::optional<std::string> bytes_at(std::uint64_t from, std::uint64_t count,
                                    const net::BodySource& read) {
  std::string bytes;
  bytes.reserve(count);
  const auto shifted = [&](std::uint64_t offset, std::span<char> into) {
    return read(from + offset, into);
  };
  if (!each_piece(count, shifted, [&](std::string_view piece) { bytes += piece; })) {
    return std::nullopt;
  }
  return bytes;
}

Diagnostic place_fault(std::string_view text, std::string why) {
  return {.code = "s3.place",
          .place = {.file = std::string(text.substr(0, 200))},
          .what = "this is not an address in an object store",
          .why = std::move(why),
          .fix = "write s3://BUCKET/PREFIX"};
}

std::string fix_of(const Error& e) {
  if (e.detail == "interrupted") return "";
  if (e.code == "RequestTimeTooSkewed") return "set the clock of this machine";
  if (e.code == "NoSuchBucket") return "create the bucket, or give --create-bucket";
  if (e.status == 403) return "check the keys in the environment, the region and the policy";
  if (e.status == 301 || e.status == 307) return "give --region with the region of the bucket";
  switch (e.fault) {
    case Fault::unreachable:
      return "check --endpoint, and check that the store answers there";
    case Fault::server:
      return "the store is overloaded or failing; try again later with fewer --streams";
    case Fault::corrupt:
      return "something between this machine and the store corrupts data; do not use it until this "
             "is found";
    case Fault::precondition:
      return "choose another name; another writer already uses this one";
    case Fault::refused:
    case Fault::absent:
    case Fault::local:
      return "";
  }
  return "";
}

}  // namespace

Outcome<bool> Client::put_parts(const std::string& key, std::uint64_t bytes,
                                const net::BodySource& read, std::size_t part_bytes,
                                const std::function<bool()>& stop) {
  const std::uint64_t part =
      std::max<std::uint64_t>({part_bytes, (bytes + kPartsMax - 1) / kPartsMax, 1});
  Whole whole{.bytes = bytes};
  const bool all = each_piece(
      bytes, read, [&](std::string_view piece) { whole.crc32c = crc32c(piece, whole.crc32c); });
  if (!all) return std::unexpected(unread(key));
  const auto upload = create_upload(key, whole);
  if (!upload) return std::unexpected(upload.error());
  std::vector<Part> parts;
  // Leftover parts cost money until someone finds them, so every exit but success aborts the
  // upload.
  const auto give_up = [&](Error error) -> Outcome<bool> {
    if (const auto aborted = abort_upload(key, *upload); !aborted) {
      error.detail +=
          "; in addition, the uploaded parts could not be removed: " + aborted.error().detail;
    }
    return std::unexpected(std::move(error));
  };
  for (std::uint64_t at = 0; at < bytes || parts.empty(); at += part) {
    if (stop && stop()) return give_up(stopped(key));
    const auto piece = bytes_at(at, std::min(part, bytes - at), read);
    if (!piece) return give_up(unread(key));
    const int number = static_cast<int>(parts.size()) + 1;
    const auto etag = upload_part(key, *upload, number, Body::of(*piece));
    if (!etag) return give_up(etag.error());
    parts.push_back({number, *etag});
  }
  const auto done = complete_upload(key, *upload, parts, whole);
  if (!done) return give_up(done.error());
  return true;
}

Diagnostic to_diagnostic(const Error& e) {
  std::string why = e.code;
  if (!e.detail.empty()) why += (why.empty() ? "" : ": ") + e.detail;
  const std::string answer = e.status > 0 ? fmt::format("answered {}", e.status) : "gave no answer";
  return {.code = e.fault == Fault::corrupt ? "s3.corrupt" : "s3.failed",
          .place = {.file = e.operation},
          .what = fmt::format("the store {} after {} attempt{}", answer, e.attempts,
                              e.attempts == 1 ? "" : "s"),
          .why = why,
          .fix = fix_of(e)};
}

Result<std::string> checked_endpoint(const std::string& text) {
  std::string_view rest = text;
  const bool scheme = rest.starts_with("http://") || rest.starts_with("https://");
  if (scheme) rest.remove_prefix(rest.find("://") + 3);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const bool plain = std::ranges::all_of(rest, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-:[]").find(c) != std::string_view::npos;
  });
  if (scheme && plain && !rest.empty()) {
    return text.substr(0, text.find("://") + 3) + std::string(rest);
  }
  return fail({.code = "s3.endpoint",
               .place = {.file = text.substr(0, 200)},
               .what = "this is not an endpoint",
               .why = "an endpoint is a scheme, a host and optionally a port",
               .fix = "write --endpoint https://HOST:PORT"});
}

Result<Location> parse_location(std::string_view text) {
  if (!text.starts_with("s3://")) {
    return fail(place_fault(text, "the address does not begin with s3://"));
  }
  const std::string_view rest = text.substr(5);
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  const bool plain = std::ranges::all_of(bucket, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  if (bucket.size() < 3 || bucket.size() > 63 || !plain) {
    return fail(place_fault(text, "a bucket name has 3 to 63 characters of a-z, 0-9, '-' and '.'"));
  }
  std::string_view prefix = rest.substr(std::min(rest.size(), bucket.size() + 1));
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.size() > 900 || !is_valid_utf8(prefix)) {
    return fail(place_fault(
        text, "a prefix is at most 900 bytes of UTF-8, because a key is at most 1,024"));
  }
  return Location{std::string(bucket), std::string(prefix)};
}

Result<Credentials> credentials_of(const std::function<const char*(const char*)>& environment) {
  const auto value = [&](const char* name) {
    const char* text = environment(name);
    return std::string(text ? text : "");
  };
  Credentials c{value("AWS_ACCESS_KEY_ID"), value("AWS_SECRET_ACCESS_KEY"),
                value("AWS_SESSION_TOKEN")};
  // The keys become header lines, and a line break in one would start another header.
  const auto graphic = [](const std::string& text) {
    return std::ranges::all_of(text, [](char ch) { return ch > ' ' && ch < '\x7f'; });
  };
  if (!graphic(c.access_key) || !graphic(c.secret_key) || !graphic(c.session_token)) {
    return fail({.code = "s3.credentials",
                 .place = {},
                 .what = "an access key of the object store contains a space, a line break or an "
                         "invalid character",
                 .why = "no store issues such keys",
                 .fix = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY without quotes"});
  }
  if (!c.access_key.empty() && !c.secret_key.empty()) return c;
  return fail({.code = "s3.credentials",
               .place = {},
               .what = "no access keys were given for the object store",
               .why =
                   "keys are read only from the environment, so that they never show up in process "
                   "listings",
               .fix = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"});
}

}  // namespace orrery::s3
