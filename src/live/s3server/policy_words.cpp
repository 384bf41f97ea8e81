#include "live/s3server/policy_words.h"

#include <algorithm>
#include <array>

#include "live/s3server/policy.h"

namespace orrery::s3server {
namespace {

// In lower case, because S3 compares actions without regard to case.
constexpr auto kBucketActions =
    std::to_array<std::string_view>({"s3:createbucket",
                                     "s3:deletebucket",
                                     "s3:deletebucketpolicy",
                                     "s3:deletebucketwebsite",
                                     "s3:getaccelerateconfiguration",
                                     "s3:getanalyticsconfiguration",
                                     "s3:getbucketacl",
                                     "s3:getbucketcors",
                                     "s3:getbucketlocation",
                                     "s3:getbucketlogging",
                                     "s3:getbucketnotification",
                                     "s3:getbucketobjectlockconfiguration",
                                     "s3:getbucketownershipcontrols",
                                     "s3:getbucketpolicy",
                                     "s3:getbucketpolicystatus",
                                     "s3:getbucketpublicaccessblock",
                                     "s3:getbucketrequestpayment",
                                     "s3:getbuckettagging",
                                     "s3:getbucketversioning",
                                     "s3:getbucketwebsite",
                                     "s3:getencryptionconfiguration",
                                     "s3:getintelligenttieringconfiguration",
                                     "s3:getinventoryconfiguration",
                                     "s3:getlifecycleconfiguration",
                                     "s3:getmetricsconfiguration",
                                     "s3:getreplicationconfiguration",
                                     "s3:listbucket",
                                     "s3:listbucketmultipartuploads",
                                     "s3:listbucketversions",
                                     "s3:putaccelerateconfiguration",
                                     "s3:putanalyticsconfiguration",
                                     "s3:putbucketacl",
                                     "s3:putbucketcors",
                                     "s3:putbucketlogging",
                                     "s3:putbucketnotification",
                                     "s3:putbucketobjectlockconfiguration",
                                     "s3:putbucketownershipcontrols",
                                     "s3:putbucketpolicy",
                                     "s3:putbucketpublicaccessblock",
                                     "s3:putbucketrequestpayment",
                                     "s3:putbuckettagging",
                                     "s3:putbucketversioning",
                                     "s3:putbucketwebsite",
                                     "s3:putencryptionconfiguration",
                                     "s3:putintelligenttieringconfiguration",
                                     "s3:putinventoryconfiguration",
                                     "s3:putlifecycleconfiguration",
                                     "s3:putmetricsconfiguration",
                                     "s3:putreplicationconfiguration"});
constexpr auto kObjectActions =
    std::to_array<std::string_view>({"s3:abortmultipartupload",
                                     "s3:bypassgovernanceretention",
                                     "s3:deleteobject",
                                     "s3:deleteobjecttagging",
                                     "s3:deleteobjectversion",
                                     "s3:deleteobjectversiontagging",
                                     "s3:getobject",
                                     "s3:getobjectacl",
                                     "s3:getobjectattributes",
                                     "s3:getobjectlegalhold",
                                     "s3:getobjectretention",
                                     "s3:getobjecttagging",
                                     "s3:getobjecttorrent",
                                     "s3:getobjectversion",
                                     "s3:getobjectversionacl",
                                     "s3:getobjectversionattributes",
                                     "s3:getobjectversionforreplication",
                                     "s3:getobjectversiontagging",
                                     "s3:getobjectversiontorrent",
                                     "s3:initiatereplication",
                                     "s3:listmultipartuploadparts",
                                     "s3:objectowneroverridetobucketowner",
                                     "s3:putobject",
                                     "s3:putobjectacl",
                                     "s3:putobjectlegalhold",
                                     "s3:putobjectretention",
                                     "s3:putobjecttagging",
                                     "s3:putobjectversionacl",
                                     "s3:putobjectversiontagging",
                                     "s3:replicatedelete",
                                     "s3:replicateobject",
                                     "s3:replicatetags",
                                     "s3:restoreobject"});

// Each of these also exists with the suffix "ifexists", except null.
constexpr auto kOperators = std::to_array<std::string_view>({"arnequals",
                                                             "arnlike",
                                                             "arnnotequals",
                                                             "arnnotlike",
                                                             "binaryequals",
                                                             "bool",
                                                             "dateequals",
                                                             "dategreaterthan",
                                                             "dategreaterthanequals",
                                                             "datelessthan",
                                                             "datelessthanequals",
                                                             "datenotequals",
                                                             "ipaddress",
                                                             "notipaddress",
                                                             "null",
                                                             "numericequals",
                                                             "numericgreaterthan",
                                                             "numericgreaterthanequals",
                                                             "numericlessthan",
                                                             "numericlessthanequals",
                                                             "numericnotequals",
                                                             "stringequals",
                                                             "stringequalsignorecase",
                                                             "stringlike",
                                                             "stringnotequals",
                                                             "stringnotequalsignorecase",
                                                             "stringnotlike"});
constexpr auto kSetOperators = std::to_array<std::string_view>({"forallvalues:", "foranyvalue:"});

// A key that ends in a slash is followed by the key of a tag.
constexpr auto kConditionKeys =
    std::to_array<std::string_view>({"aws:currenttime",
                                     "aws:epochtime",
                                     "aws:multifactorauthage",
                                     "aws:multifactorauthpresent",
                                     "aws:principalaccount",
                                     "aws:principalarn",
                                     "aws:principalisawsservice",
                                     "aws:principalorgid",
                                     "aws:principalorgpaths",
                                     "aws:principalservicename",
                                     "aws:principaltag/",
                                     "aws:principaltype",
                                     "aws:referer",
                                     "aws:requestedregion",
                                     "aws:requesttag/",
                                     "aws:resourceaccount",
                                     "aws:resourceorgid",
                                     "aws:resourcetag/",
                                     "aws:securetransport",
                                     "aws:sourceaccount",
                                     "aws:sourcearn",
                                     "aws:sourceip",
                                     "aws:sourcevpc",
                                     "aws:sourcevpce",
                                     "aws:tagkeys",
                                     "aws:tokenissuetime",
                                     "aws:useragent",
                                     "aws:userid",
                                     "aws:username",
                                     "aws:viaawsservice",
                                     "aws:vpcsourceip",
                                     "s3:authtype",
                                     "s3:delimiter",
                                     "s3:existingobjecttag/",
                                     "s3:if-match",
                                     "s3:if-none-match",
                                     "s3:locationconstraint",
                                     "s3:max-keys",
                                     "s3:object-lock-legal-hold",
                                     "s3:object-lock-mode",
                                     "s3:object-lock-remaining-retention-days",
                                     "s3:object-lock-retain-until-date",
                                     "s3:objectcreationoperation",
                                     "s3:prefix",
                                     "s3:requestobjecttag/",
                                     "s3:requestobjecttagkeys",
                                     "s3:resourceaccount",
                                     "s3:signatureage",
                                     "s3:signatureversion",
                                     "s3:tlsversion",
                                     "s3:versionid",
                                     "s3:x-amz-acl",
                                     "s3:x-amz-content-sha256",
                                     "s3:x-amz-copy-source",
                                     "s3:x-amz-grant-full-control",
                                     "s3:x-amz-grant-read",
                                     "s3:x-amz-grant-read-acp",
                                     "s3:x-amz-grant-write",
                                     "s3:x-amz-grant-write-acp",
                                     "s3:x-amz-metadata-directive",
                                     "s3:x-amz-object-ownership",
                                     "s3:x-amz-server-side-encryption",
                                     "s3:x-amz-server-side-encryption-aws-kms-key-id",
                                     "s3:x-amz-server-side-encryption-customer-algorithm",
                                     "s3:x-amz-storage-class",
                                     "s3:x-amz-website-redirect-location"});

}  // namespace

ActionScope scope_of_action(std::string_view pattern) {
  const auto fits = [pattern](std::string_view action) {
    return matches_wildcard(pattern, action);
  };
  return {std::ranges::any_of(kBucketActions, fits), std::ranges::any_of(kObjectActions, fits)};
}

bool is_condition_operator(std::string_view name) {
  constexpr std::string_view kIfExists = "ifexists";
  for (const std::string_view set : kSetOperators) {
    if (!name.starts_with(set)) continue;
    name.remove_prefix(set.size());
    break;
  }
  if (name.ends_with(kIfExists)) name.remove_suffix(kIfExists.size());
  return std::ranges::find(kOperators, name) != kOperators.end();
}

bool is_condition_key(std::string_view name) {
  return std::ranges::any_of(kConditionKeys, [name](std::string_view key) {
    return key.ends_with('/') ? name.starts_with(key) && name.size() > key.size() : name == key;
  });
}

}  // namespace orrery::s3server
