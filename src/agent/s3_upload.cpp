// A large object in parts, and the words of an S3 address, an error and the environment.
#include <fmt/core.h>

#include <algorithm>

#include "agent/s3_client.h"
#include "base/digest.h"
#include "base/text.h"

namespace orrery {
namespace {

// S3's own: at most 10,000 parts.
constexpr std::size_t kPartsMax = 10'000;

S3Error stopped(const std::string& key) {
  return {.fault = S3Fault::refused, .operation = "PUT " + key, .detail = "interrupted"};
}

Diagnostic place_fault(std::string_view text, std::string why) {
  return {.code = "s3.place",
          .place = {.file = std::string(text.substr(0, 200))},
          .what = "this is no place in an object store",
          .why = std::move(why),
          .fix = "write s3://BUCKET/PREFIX"};
}

std::string fix_of(const S3Error& e) {
  if (e.detail == "interrupted") return "";
  if (e.code == "RequestTimeTooSkewed") return "set this machine's clock";
  if (e.code == "NoSuchBucket") return "make the bucket, or give --create-bucket";
  if (e.status == 403) return "check the keys in the environment, the region and the policy";
  if (e.status == 301 || e.status == 307) return "give --region as the bucket has it";
  switch (e.fault) {
    case S3Fault::unreachable:
      return "check --endpoint and that the store answers there";
    case S3Fault::server:
      return "the store is overloaded or broken; ask again later with fewer --streams";
    case S3Fault::corrupt:
      return "something between here and the store changes bytes; do not trust it with data";
    case S3Fault::precondition:
      return "choose another name; another writer has this one";
    case S3Fault::refused:
    case S3Fault::absent:
      return "";
  }
  return "";
}

}  // namespace

S3Result<bool> S3Client::put_parts(const std::string& key, const std::string& bytes,
                                   std::size_t part_bytes, const std::function<bool()>& stop) {
  part_bytes = std::max(part_bytes, (bytes.size() + kPartsMax - 1) / kPartsMax);
  const S3Whole whole{bytes.size(), crc32c(bytes)};
  const auto upload = create_upload(key, whole);
  if (!upload) return std::unexpected(upload.error());
  std::vector<S3Part> parts;
  // Parts left behind cost money until somebody finds them, so every way out but one aborts.
  const auto give_up = [&](S3Error error) -> S3Result<bool> {
    if (const auto aborted = abort_upload(key, *upload); !aborted) {
      error.detail += "; and its parts could not be removed: " + aborted.error().detail;
    }
    return std::unexpected(std::move(error));
  };
  for (std::size_t at = 0; at < bytes.size() || parts.empty(); at += part_bytes) {
    if (stop && stop()) return give_up(stopped(key));
    const int number = static_cast<int>(parts.size()) + 1;
    const auto etag = upload_part(key, *upload, number, S3Body::of(bytes.substr(at, part_bytes)));
    if (!etag) return give_up(etag.error());
    parts.push_back({number, *etag});
  }
  const auto done = complete_upload(key, *upload, parts, whole);
  if (!done) return give_up(done.error());
  return true;
}

Diagnostic to_diagnostic(const S3Error& e) {
  std::string why = e.code;
  if (!e.detail.empty()) why += (why.empty() ? "" : ": ") + e.detail;
  const std::string answer = e.status > 0 ? fmt::format("answered {}", e.status) : "gave no answer";
  return {.code = e.fault == S3Fault::corrupt ? "s3.corrupt" : "s3.failed",
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
               .what = "this is no endpoint",
               .why = "an endpoint is a scheme, a host and perhaps a port",
               .fix = "write --endpoint https://HOST:PORT"});
}

Result<S3Place> parse_s3_place(std::string_view text) {
  if (!text.starts_with("s3://")) return fail(place_fault(text, "it does not begin with s3://"));
  const std::string_view rest = text.substr(5);
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  const bool plain = std::ranges::all_of(bucket, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
  if (bucket.size() < 3 || bucket.size() > 63 || !plain) {
    return fail(place_fault(text, "a bucket's name has 3 to 63 of a-z, 0-9, '-' and '.'"));
  }
  std::string_view prefix = rest.substr(std::min(rest.size(), bucket.size() + 1));
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.size() > 900 || !is_valid_utf8(prefix)) {
    return fail(place_fault(text, "a prefix is at most 900 bytes of UTF-8: a key has 1,024"));
  }
  return S3Place{std::string(bucket), std::string(prefix)};
}

Result<S3Credentials> credentials_of(const std::function<const char*(const char*)>& environment) {
  const auto value = [&](const char* name) {
    const char* text = environment(name);
    return std::string(text ? text : "");
  };
  S3Credentials c{value("AWS_ACCESS_KEY_ID"), value("AWS_SECRET_ACCESS_KEY"),
                  value("AWS_SESSION_TOKEN")};
  // They become header lines: a line break in one would begin another.
  const auto graphic = [](const std::string& text) {
    return std::ranges::all_of(text, [](char ch) { return ch > ' ' && ch < '\x7f'; });
  };
  if (!graphic(c.access_key) || !graphic(c.secret_key) || !graphic(c.session_token)) {
    return fail({.code = "s3.credentials",
                 .place = {},
                 .what = "a key for the object store has a blank, a line break or a strange byte",
                 .why = "no store gives out such keys",
                 .fix = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY without quotes"});
  }
  if (!c.access_key.empty() && !c.secret_key.empty()) return c;
  return fail(
      {.code = "s3.credentials",
       .place = {},
       .what = "there are no keys for the object store",
       .why = "they come from the environment alone, so that no list of processes shows them",
       .fix = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"});
}

}  // namespace orrery
