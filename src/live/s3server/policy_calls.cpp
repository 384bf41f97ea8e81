// Sets, shows and removes bucket policies.
#include <algorithm>
#include <set>

#include "live/s3server/call.h"
#include "live/s3server/policy.h"

namespace orrery::s3server {
namespace {

const std::string kPolicy = "policy";

// Only its owner may access a bucket's policy. Other callers get 405 even if the policy itself
// grants them access, as in S3 (API reference, GetBucketPolicy).
Answer<Bucket> policy_bucket(Call& call) {
  auto bucket = allowed_bucket(call, Need::own);
  const bool owns = bucket && call.who.tenant && call.who.tenant->id == bucket->owner;
  if (bucket && !owns) return refused("MethodNotAllowed");
  return bucket;
}

// A principal that is not a tenant would make a statement that never applies.
Answer<void> check_principals(Call& call, const BucketPolicy& policy) {
  std::set<std::string> known;
  const std::string base = rows::row::tenant("");
  const auto cursor = call.store.metadata().cursor();
  for (cursor->seek(base); cursor->valid() && cursor->key().starts_with(base); cursor->next()) {
    if (const auto tenant = decode_tenant(cursor->value())) known.insert(tenant->id);
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  for (const PolicyStatement& one : policy.statements) {
    for (const std::string& tenant : one.tenants) {
      if (known.contains(tenant)) continue;
      return refused("MalformedPolicy",
                     "Invalid principal in policy: there is no tenant '" + tenant + "'.");
    }
  }
  return {};
}

Answered set_policy(Call& call, const std::string& text) {
  if (auto bucket = policy_bucket(call); !bucket) return std::unexpected(bucket.error());
  const auto done = call.store.change_bucket(call.s3.bucket, [&](Bucket& bucket) -> Answer<void> {
    std::erase_if(bucket.documents, [](const auto& d) { return d.first == kPolicy; });
    if (!text.empty()) bucket.documents.emplace_back(kPolicy, text);
    return {};
  });
  if (!done) return std::unexpected(done.error());
  return net::Response{.status = 204, .content_type = ""};
}

}  // namespace

Answered get_policy(Call& call) {
  const auto bucket = policy_bucket(call);
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
  if (auto bucket = policy_bucket(call); !bucket) return std::unexpected(bucket.error());
  const auto policy = policy_of(call.body, call.s3.bucket);
  if (!policy) return std::unexpected(policy.error());
  if (auto good = check_principals(call, *policy); !good) return std::unexpected(good.error());
  return set_policy(call, call.body);
}

Answered remove_policy(Call& call) { return set_policy(call, ""); }

}  // namespace orrery::s3server
