// Sets, shows and removes lifecycle rules, and tells clients when an object expires.
#include <fmt/core.h>

#include <algorithm>

#include "live/s3server/call.h"
#include "live/upkeep/lifecycle.h"

namespace orrery::s3server {
namespace {

const std::string kLifecycle = "lifecycle";
constexpr TimeMs kLastHttpMs = 253'402'300'799'000;  // the year in an HTTP date has four digits

Answered set_document(Call& call, const std::string& text, int status) {
  if (auto bucket = allowed_bucket(call, Need::own); !bucket)
    return std::unexpected(bucket.error());
  const auto done = call.store.change_bucket(call.s3.bucket, [&](Bucket& bucket) -> Answer<void> {
    std::erase_if(bucket.documents, [](const auto& d) { return d.first == kLifecycle; });
    if (!text.empty()) bucket.documents.emplace_back(kLifecycle, text);
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return net::Response{.status = status, .content_type = ""};
}

}  // namespace

Answered get_lifecycle(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const std::string_view text = net::header_of(bucket->documents, kLifecycle);
  if (text.empty()) return refused("NoSuchLifecycleConfiguration");
  const auto document = s3::read_xml(text);
  if (!document) return refused("InternalError", "the lifecycle document is unreadable");
  return xml_response(*document);
}

Answered put_lifecycle(Call& call) {
  const auto lifecycle = lifecycle_of(call.body);
  if (!lifecycle) return std::unexpected(lifecycle.error());
  return set_document(call, s3::write_xml(lifecycle->document), 200);
}

Answered remove_lifecycle(Call& call) { return set_document(call, "", 204); }

// Counted in calendar days, even if a day of the rules is shorter, because clients compare these
// dates.
std::string expiration_of(const Bucket& bucket, std::string_view key, const Version& version) {
  const std::string_view text = net::header_of(bucket.documents, kLifecycle);
  if (text.empty()) return {};
  const auto lifecycle = lifecycle_of(text);
  if (!lifecycle) return {};
  std::optional<TimeMs> first;
  std::string id;
  for (const LifecycleRule& rule : lifecycle->rules) {
    if (!applies(rule, key, version) || (!rule.expire_days && !rule.expire_at)) continue;
    const TimeMs end =
        rule.expire_at ? *rule.expire_at : end_of(version.modified_ms, *rule.expire_days, kDayMs);
    if (first && *first <= end) continue;
    first = end;
    id = rule.id;
  }
  if (!first) return {};
  return fmt::format("expiry-date=\"{}\", rule-id=\"{}\"", http_time(std::min(*first, kLastHttpMs)),
                     id);
}

}  // namespace orrery::s3server
