// Checks what a bucket's policy, its ACL and the owner's quota allow a call to do, in this order. A
// Deny in the policy takes precedence over an Allow; if no statement matches, the ACL decides.
#include <array>

#include "core/base/text.h"
#include "live/s3server/call.h"

namespace orrery::s3server {
namespace {

bool is_owner(const Call& call, const Bucket& bucket) {
  return call.who.tenant && call.who.tenant->id == bucket.owner;
}

// Returns true if the policy allows the action, false if it denies it, nullopt if no statement
// matches.
std::optional<bool> policy_rules(const Call& call, const Bucket& bucket, std::string_view action,
                                 std::string_view key) {
  const std::string_view text = net::header_of(bucket.documents, "policy");
  if (text.empty() || !call.policies) return std::nullopt;
  const auto policy = call.policies->read(text, bucket.name);
  // A policy that cannot be read gives access only to the owner.
  if (!policy) return is_owner(call, bucket) ? std::optional<bool>() : false;
  const std::string resource = key.empty() ? bucket.name : bucket.name + '/' + std::string(key);
  return policy_says(*policy, call.who.id(), action, resource);
}

struct HeaderRight {
  std::string_view header;
  std::string_view action;
};
// From S3's table "Required permissions for Amazon S3 API operations", for PutObject, CopyObject
// and CreateMultipartUpload.
constexpr auto kHeaderRights = std::to_array<HeaderRight>({
    {"x-amz-acl", "s3:PutObjectAcl"},
    {"x-amz-tagging", "s3:PutObjectTagging"},
    {"x-amz-object-lock-mode", "s3:PutObjectRetention"},
    {"x-amz-object-lock-retain-until-date", "s3:PutObjectRetention"},
    {"x-amz-object-lock-legal-hold", "s3:PutObjectLegalHold"},
});

}  // namespace

Answer<void> check_right(const Call& call, const Bucket& bucket, std::string_view action,
                         std::string_view key, Need need) {
  const auto says = policy_rules(call, bucket, action, key);
  if (says == false) return refused("AccessDenied");
  if (says == true) return {};
  return check_bucket_access(call.who, bucket, need);
}

Answer<Bucket> allowed_bucket(Call& call, Need need) {
  auto bucket = call.store.bucket(call.s3.bucket);
  if (!bucket) return bucket;
  // An owner who has locked himself out can still change the policy.
  if (is_owner(call, *bucket) && call.action().ends_with("BucketPolicy")) return bucket;
  if (auto may = check_right(call, *bucket, call.action(), call.s3.key, need); !may) {
    return std::unexpected(may.error());
  }
  return bucket;
}

Answer<void> may_read(const Call& call, const Bucket& bucket, std::string_view key,
                      const Version& version, bool by_id) {
  const auto says = policy_rules(call, bucket, by_id ? "s3:GetObjectVersion" : "s3:GetObject", key);
  if (says == false) return refused("AccessDenied");
  if (says == true) return {};
  return check_object_access(call.who, bucket, version);
}

Answer<void> may_compare(Call& call, const Bucket& bucket, const std::string& key,
                         const WriteCondition& condition) {
  const std::string& none = condition.if_none_match;
  if (condition.if_match.empty() && (none.empty() || none == "*")) return {};
  const auto version = call.store.find(bucket.name, key, std::nullopt);
  if (version) return may_read(call, bucket, key, *version, false);
  Refused refusal = hidden(call, bucket, version.error());
  if (refusal.code == "NoSuchKey")
    return {};  // a caller who may know that the key is missing may
                // use the condition
  return std::unexpected(std::move(refusal));
}

Answer<void> check_header_rights(const Call& call, const Bucket& bucket) {
  for (const HeaderRight& one : kHeaderRights) {
    if (call.header(one.header).empty()) continue;
    if (auto may = check_right(call, bucket, one.action, call.s3.key, Need::own); !may) return may;
  }
  return {};
}

bool passes_governance(const Call& call, const Bucket& bucket, std::string_view key) {
  return lowered(call.header("x-amz-bypass-governance-retention")) == "true" &&
         check_right(call, bucket, "s3:BypassGovernanceRetention", key, Need::own);
}

Refused hidden(const Call& call, const Bucket& bucket, Refused refusal) {
  const bool missing = refusal.code == "NoSuchKey" || refusal.code == "NoSuchVersion";
  if (!missing || check_right(call, bucket, "s3:ListBucket", "", Need::list)) return refusal;
  return {"AccessDenied", {}, {}};
}

Refused hidden_read(const Call& call, const Bucket& bucket, std::string_view key, bool by_id,
                    Refused refusal) {
  const std::string_view reads = by_id ? "s3:GetObjectVersion" : "s3:GetObject";
  if (policy_rules(call, bucket, reads, key) == false) return {"AccessDenied", {}, {}};
  return hidden(call, bucket, std::move(refusal));
}

Answer<std::unique_ptr<QuotaBook::Hold>> hold_quota(Call& call, const Bucket& bucket,
                                                    std::uint64_t bytes) {
  const auto quota = call.setting.quota_of ? call.setting.quota_of(bucket.owner) : 0;
  if (quota == 0 || !call.quotas) return nullptr;
  const auto used = [&store = call.store, owner = bucket.owner]() -> Answer<std::uint64_t> {
    const auto owned = store.buckets(owner);
    if (!owned) return std::unexpected(owned.error());
    std::uint64_t sum = 0;
    for (const Bucket& one : *owned) sum += store.usage().of(one.name).bytes;
    return sum;
  };
  return call.quotas->hold({bucket.owner, quota, used}, bytes);
}

}  // namespace orrery::s3server
