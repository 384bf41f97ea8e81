// The words of S3's policy language that a bucket policy may use: actions, and the operators and
// keys of conditions.
//
// A word that is not among them would make a statement that never applies, and a denial that never
// applies is worse than none; so policies with one are refused. The list of actions is that of the
// AWS Service Authorization Reference, "Actions, resources, and condition keys for Amazon S3", as
// far as they apply to buckets and objects, without directory buckets and access points. Those of
// operations that are not served here may be named: nothing is done that they could deny.
#pragma once

#include <string_view>

namespace orrery::s3server {

// What of a bucket an action can apply to.
struct ActionScope {
  bool bucket = false;
  bool objects = false;
  bool any() const { return bucket || objects; }
};
// The scope of all actions that the pattern ("s3:get*", in lower case) fits; none where it fits no
// action.
ActionScope scope_of_action(std::string_view pattern);

// In lower case: "stringequals", "stringequalsifexists", "forallvalues:stringlike".
bool is_condition_operator(std::string_view name);
// In lower case: "aws:sourceip", "s3:existingobjecttag/team".
bool is_condition_key(std::string_view name);

}  // namespace orrery::s3server
