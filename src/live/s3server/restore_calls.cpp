// Restores from a slow tier: a copy in the fast tier until a given day. Objects in slow tiers can
// be read at any time, so a restore is a prefetch.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "live/s3server/call.h"
#include "live/store/moment.h"

namespace orrery::s3server {
namespace {

constexpr std::int64_t kDaysMax = 3650;

bool is_near(const Version& version) {
  return tier_of(version) == "hot" || std::ranges::any_of(version.copies, [](const TierCopy& copy) {
           return copy.tier == "hot" && copy.checked;
         });
}

}  // namespace

std::string restore_of(const Version& version, TimeMs now) {
  if (version.restored_until_ms <= now) return {};
  if (!is_near(version)) return "ongoing-request=\"true\"";
  return fmt::format("ongoing-request=\"false\", expiry-date=\"{}\"",
                     http_time(version.restored_until_ms));
}

Answered restore_object(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const auto document = s3::read_xml(call.body);
  if (!document || document->name != "RestoreRequest") return refused("MalformedXML");
  const auto days = parse_integer(document->text_of("Days"));
  if (!days || *days < 1 || *days > kDaysMax) return refused("MalformedXML");
  bool before = false;
  const auto changed = call.store.change_version(
      call.s3.bucket, call.s3.key, call.s3.version_id(), [&](Version& version) -> Answer<void> {
        if (tier_of_class(version.storage_class) == "hot") return refused("InvalidObjectState");
        const TimeMs now = call.store.now_ms();
        before = version.restored_until_ms > now;
        version.restored_until_ms = now + *days * call.setting.day_ms;
        return {};
      });
  if (!changed) return std::unexpected(hidden(call, *bucket, changed.error()));
  return net::Response{.status = before ? 200 : 202, .content_type = ""};
}

}  // namespace orrery::s3server
