// The words of S3's policy language that a bucket policy may use: actions, and the operators and
// keys of conditions.
//
// Any other word would make a statement that never applies, and a Deny that never applies is worse
// than none. So policies with such words are refused. The actions are those of the AWS Service
// Authorization Reference, "Actions, resources, and condition keys for Amazon S3", as far as they
// apply to buckets and objects, without directory buckets and access points. Actions of operations
// that this server does not implement are accepted: denying them changes nothing.
#pragma once

#include <string_view>

namespace orrery::s3server {

// Which resources of a bucket an action can apply to.
struct ActionScope {
  bool bucket = false;
  bool objects = false;
  bool any() const { return bucket || objects; }
};
// Returns the combined scope of all actions that match the pattern ("s3:get*", in lower case); no
// scope if it matches none.
ActionScope scope_of_action(std::string_view pattern);

// The name is in lower case: "stringequals", "stringequalsifexists", "forallvalues:stringlike".
bool is_condition_operator(std::string_view name);
// The name is in lower case: "aws:sourceip", "s3:existingobjecttag/team".
bool is_condition_key(std::string_view name);

}  // namespace orrery::s3server
