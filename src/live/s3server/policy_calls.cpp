// Bucket policies as the protocol sets, shows and removes them, and what they, ACLs and quotas
// allow a call to do.
#include <algorithm>

#include "live/s3server/call.h"
#include "live/s3server/policy.h"

namespace orrery::s3server {
namespace {

const std::string kPolicy = "policy";

bool is_owner(const Call& call, const Bucket& bucket) {
  return call.who.tenant && call.who.tenant->id == bucket.owner;
}

Answered set_policy(Call& call, const std::string& text) {
  if (auto bucket = allowed_bucket(call, Need::own); !bucket)
    return std::unexpected(bucket.error());
  const auto done = call.store.change_bucket(call.s3.bucket, [&](Bucket& bucket) -> Answer<void> {
    std::erase_if(bucket.documents, [](const auto& d) { return d.first == kPolicy; });
    if (!text.empty()) bucket.documents.emplace_back(kPolicy, text);
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return net::Response{.status = 204, .content_type = ""};
}

}  // namespace

std::optional<bool> policy_rules(const Call& call, const Bucket& bucket, std::string_view action,
                                 std::string_view key) {
  const std::string_view text = net::header_of(bucket.documents, kPolicy);
  if (text.empty()) return std::nullopt;
  const auto policy = policy_of(text, bucket.name);
  // One that cannot be read lets nobody but the owner in.
  if (!policy) return is_owner(call, bucket) ? std::optional<bool>() : false;
  const std::string resource = key.empty() ? bucket.name : bucket.name + '/' + std::string(key);
  return policy_says(*policy, call.who.id(), action, resource);
}

Answer<Bucket> allowed_bucket(Call& call, Need need) {
  auto bucket = call.store.bucket(call.s3.bucket);
  if (!bucket) return bucket;
  const auto says = policy_rules(call, *bucket, call.action, call.s3.key);
  // An owner who has locked himself out can still mend his policy.
  const bool mends = is_owner(call, *bucket) && call.action.ends_with("BucketPolicy");
  if (says == false && !mends) return refused("AccessDenied");
  if (says == true) return bucket;
  if (auto may = check_bucket_access(call.who, *bucket, need); !may) {
    return std::unexpected(may.error());
  }
  return bucket;
}

Answer<void> may_read(const Call& call, const Bucket& bucket, std::string_view key,
                      const Version& version) {
  const auto says = policy_rules(call, bucket, "s3:GetObject", key);
  if (says == false) return refused("AccessDenied");
  if (says == true) return {};
  return check_object_access(call.who, bucket, version);
}

Answer<void> check_quota(Call& call, const Bucket& bucket, std::uint64_t bytes) {
  const auto quota = call.setting.quota_of ? call.setting.quota_of(bucket.owner) : 0;
  if (quota == 0) return {};
  const auto owned = call.store.buckets(bucket.owner);
  if (!owned) return std::unexpected(owned.error());
  std::uint64_t used = 0;
  for (const Bucket& one : *owned) used += call.store.usage().of(one.name).bytes;
  if (used + bytes > quota) return refused("QuotaExceeded");
  return {};
}

Answered get_policy(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const std::string_view text = net::header_of(bucket->documents, kPolicy);
  if (text.empty()) return refused("NoSuchBucketPolicy");
  return net::Response{.content_type = "application/json", .body = std::string(text)};
}

Answered get_policy_status(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const std::string_view text = net::header_of(bucket->documents, kPolicy);
  if (text.empty()) return refused("NoSuchBucketPolicy");
  const auto policy = policy_of(text, bucket->name);
  const bool open = policy && std::ranges::any_of(policy->statements, [](const auto& one) {
                      return one.allows && one.anyone;
                    });
  s3::XmlElement root{"PolicyStatus"};
  add_text(root, "IsPublic", open ? "true" : "false");
  return xml_response(root);
}

Answered put_policy(Call& call) {
  if (auto policy = policy_of(call.body, call.s3.bucket); !policy) {
    return std::unexpected(policy.error());
  }
  return set_policy(call, call.body);
}

Answered remove_policy(Call& call) { return set_policy(call, ""); }

}  // namespace orrery::s3server
