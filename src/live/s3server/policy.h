// Bucket policies: who besides the owner may do what with which keys, and who may not, in S3's
// policy language (user guide, "Policies and permissions in Amazon S3").
//
// A statement has Effect, Principal, Action and Resource, with * and ? as wildcards; actions are
// compared without regard to case. Deny takes precedence over Allow; if no statement matches, ACLs
// decide. Principals are tenants by id (alone, or as arn:aws:iam::ID:root or
// arn:aws:iam::ACCOUNT:user/ID, with any account) or everyone ("*").
//
// A policy is refused if part of it would not have the effect that it seems to have.
// MalformedPolicy: actions, kinds of principals, operators and keys of conditions that S3 does not
// know, actions that apply to no resource of their statement, and fields that occur twice.
// NotImplemented: conditions, policy variables, NotAction and similar elements, which are not
// supported here.
#pragma once

#include <map>
#include <memory>
#include <mutex>
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
  std::vector<std::string> actions = {};    // in lower case, such as "s3:getobject" or "s3:*"
  std::vector<std::string> resources = {};  // "BUCKET" or "BUCKET/KEY", with wildcards
};

struct BucketPolicy {
  std::vector<PolicyStatement> statements = {};
};

// Parses a policy. Fails with MalformedPolicy or NotImplemented and says what is wrong.
Answer<BucketPolicy> policy_of(std::string_view json, std::string_view bucket);

// Returns true if the policy allows the action, false if it denies it, nullopt if no statement
// matches. An empty tenant is an anonymous caller.
std::optional<bool> policy_says(const BucketPolicy& policy, std::string_view tenant,
                                std::string_view action, std::string_view resource);

// Parsed policies, so that a request does not parse the text again.
class PolicyBook {
 public:
  // Returns null if the text is not a valid policy of that bucket.
  std::shared_ptr<const BucketPolicy> read(std::string_view json, std::string_view bucket);

 private:
  struct Entry {
    std::string bucket;
    std::shared_ptr<const BucketPolicy> policy;
  };
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;  // by text
};

bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace orrery::s3server
