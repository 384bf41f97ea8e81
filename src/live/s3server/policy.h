// Bucket policies: who besides the owner may do what to which keys, and who may not, as S3's
// policy language says it (user guide, "Policies and permissions in Amazon S3").
//
// A statement has Effect, Principal, Action and Resource, with * and ? as wildcards; actions are
// compared without case. Deny goes before Allow; where no statement fits, ACLs decide. Principals
// are tenants by id (alone, or as arn:aws:iam::ID:root or arn:aws:iam::ACCOUNT:user/ID, whatever
// the account) or anyone ("*").
//
// What would not do what it seems to say is refused when a policy is put: actions, kinds of
// principals, operators and keys of conditions that S3 does not know, actions that apply to no
// resource of their statement, and fields that are there twice (all MalformedPolicy); conditions,
// policy variables, NotAction and their kin, which are not evaluated here (NotImplemented).
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
  std::vector<std::string> actions = {};    // "s3:getobject", "s3:*": in lower case
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

// Policies as they were read, so that a request does not read the text again.
class PolicyBook {
 public:
  // Null where the text is no policy of that bucket.
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
