// Bucket policies: who besides the owner may do what to which keys, and who may not, as S3's
// policy language says it (user guide, "Policies and permissions in Amazon S3").
//
// A statement has Effect, Principal, Action and Resource, with * and ? as wildcards. Deny goes
// before Allow; where no statement fits, ACLs decide. Principals are tenants by id (alone, or as
// arn:aws:iam::ID:root or arn:aws:iam:::user/ID) or anyone ("*"). Conditions, NotAction and their
// kin are refused when they are set, so nothing is promised that is not kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "live/s3server/names.h"

namespace orrery::s3server {

struct PolicyStatement {
  bool allows = false;
  bool anyone = false;
  std::vector<std::string> tenants = {};
  std::vector<std::string> actions = {};    // "s3:GetObject", "s3:*"
  std::vector<std::string> resources = {};  // "BUCKET", "BUCKET/KEY", with wildcards
};

struct BucketPolicy {
  std::vector<PolicyStatement> statements = {};
};

// MalformedPolicy or NotImplemented with what is wrong.
Answer<BucketPolicy> policy_of(std::string_view json, std::string_view bucket);

// True: allowed, false: denied, nullopt: it says nothing. An empty tenant is a stranger.
std::optional<bool> policy_says(const BucketPolicy& policy, std::string_view tenant,
                                std::string_view action, std::string_view resource);

bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace orrery::s3server
