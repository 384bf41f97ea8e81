// The operations of the protocol: one table that gives the handler of a request and its action in
// policies.
#include <algorithm>
#include <array>

#include "live/s3server/call.h"

namespace orrery::s3server {
namespace {

constexpr std::string_view kCopySource = "x-amz-copy-source";

constexpr auto kOperations = std::to_array<Operation>({
    {"GET", Level::service, "", list_buckets, "s3:ListAllMyBuckets"},
    {"PUT", Level::bucket, "versioning", put_versioning, "s3:PutBucketVersioning"},
    {"PUT", Level::bucket, "acl", put_bucket_acl, "s3:PutBucketAcl"},
    {"PUT", Level::bucket, "tagging", put_bucket_tags, "s3:PutBucketTagging"},
    {"PUT", Level::bucket, "object-lock", put_lock, "s3:PutBucketObjectLockConfiguration"},
    {"PUT", Level::bucket, "lifecycle", put_lifecycle, "s3:PutLifecycleConfiguration"},
    {"PUT", Level::bucket, "policy", put_policy, "s3:PutBucketPolicy"},
    {"PUT", Level::bucket, "", make_bucket, "s3:CreateBucket"},
    {"GET", Level::bucket, "location", get_location, "s3:GetBucketLocation"},
    {"GET", Level::bucket, "versioning", get_versioning, "s3:GetBucketVersioning"},
    {"GET", Level::bucket, "acl", get_bucket_acl, "s3:GetBucketAcl"},
    {"GET", Level::bucket, "tagging", get_bucket_tags, "s3:GetBucketTagging"},
    {"GET", Level::bucket, "object-lock", get_lock, "s3:GetBucketObjectLockConfiguration"},
    {"GET", Level::bucket, "lifecycle", get_lifecycle, "s3:GetLifecycleConfiguration"},
    {"GET", Level::bucket, "policy", get_policy, "s3:GetBucketPolicy"},
    {"GET", Level::bucket, "policyStatus", get_policy_status, "s3:GetBucketPolicyStatus"},
    {"GET", Level::bucket, "versions", list_versions, "s3:ListBucketVersions"},
    {"GET", Level::bucket, "uploads", list_uploads, "s3:ListBucketMultipartUploads"},
    {"GET", Level::bucket, "", list_objects, "s3:ListBucket"},
    {"HEAD", Level::bucket, "", head_bucket, "s3:ListBucket"},
    {"DELETE", Level::bucket, "tagging", remove_bucket_tags, "s3:PutBucketTagging"},
    {"DELETE", Level::bucket, "lifecycle", remove_lifecycle, "s3:PutLifecycleConfiguration"},
    {"DELETE", Level::bucket, "policy", remove_policy, "s3:DeleteBucketPolicy"},
    {"DELETE", Level::bucket, "", remove_bucket, "s3:DeleteBucket"},
    {"POST", Level::bucket, "delete", remove_objects, "s3:DeleteObject"},
    {"GET", Level::object, "uploadId", list_parts, "s3:ListMultipartUploadParts"},
    {"GET", Level::object, "tagging", get_tags, "s3:GetObjectTagging",
     "s3:GetObjectVersionTagging"},
    {"GET", Level::object, "acl", get_object_acl, "s3:GetObjectAcl", "s3:GetObjectVersionAcl"},
    {"GET", Level::object, "retention", get_retention, "s3:GetObjectRetention"},
    {"GET", Level::object, "legal-hold", get_legal_hold, "s3:GetObjectLegalHold"},
    {"GET", Level::object, "attributes", get_attributes, "s3:GetObjectAttributes",
     "s3:GetObjectVersionAttributes"},
    {"GET", Level::object, "orrery-lineage", get_lineage, "s3:GetObjectTagging",
     "s3:GetObjectVersionTagging"},
    {"GET", Level::object, "", get_object, "s3:GetObject", "s3:GetObjectVersion"},
    {"HEAD", Level::object, "", head_object, "s3:GetObject", "s3:GetObjectVersion"},
    {"PUT", Level::object, "tagging", put_tags, "s3:PutObjectTagging",
     "s3:PutObjectVersionTagging"},
    {"PUT", Level::object, "acl", put_object_acl, "s3:PutObjectAcl", "s3:PutObjectVersionAcl"},
    {"PUT", Level::object, "retention", put_retention, "s3:PutObjectRetention"},
    {"PUT", Level::object, "legal-hold", put_legal_hold, "s3:PutObjectLegalHold"},
    {"PUT", Level::object, "uploadId", copy_part, "s3:PutObject", "", kCopySource},
    {"PUT", Level::object, "uploadId", nullptr, "s3:PutObject", "", "", true},
    {"PUT", Level::object, "", copy_object, "s3:PutObject", "", kCopySource},
    {"PUT", Level::object, "", nullptr, "s3:PutObject", "", "", true},
    {"DELETE", Level::object, "uploadId", abort_upload, "s3:AbortMultipartUpload"},
    {"DELETE", Level::object, "tagging", remove_tags, "s3:DeleteObjectTagging",
     "s3:DeleteObjectVersionTagging"},
    {"DELETE", Level::object, "", remove_object, "s3:DeleteObject", "s3:DeleteObjectVersion"},
    {"POST", Level::object, "restore", restore_object, "s3:RestoreObject"},
    {"POST", Level::object, "uploads", begin_upload, "s3:PutObject"},
    {"POST", Level::object, "uploadId", complete_upload, "s3:PutObject"},
});

// Parameters that name an operation of their own, whether or not this server implements it.
constexpr auto kSubresources = std::to_array<std::string_view>({"accelerate",
                                                                "acl",
                                                                "analytics",
                                                                "attributes",
                                                                "cors",
                                                                "delete",
                                                                "encryption",
                                                                "intelligent-tiering",
                                                                "inventory",
                                                                "legal-hold",
                                                                "lifecycle",
                                                                "location",
                                                                "logging",
                                                                "metrics",
                                                                "notification",
                                                                "object-lock",
                                                                "orrery-lineage",
                                                                "ownershipControls",
                                                                "policy",
                                                                "policyStatus",
                                                                "publicAccessBlock",
                                                                "replication",
                                                                "requestPayment",
                                                                "restore",
                                                                "retention",
                                                                "select",
                                                                "tagging",
                                                                "torrent",
                                                                "uploadId",
                                                                "uploads",
                                                                "versioning",
                                                                "versions",
                                                                "website"});

Level level_of(const S3Request& request) {
  if (request.bucket.empty()) return Level::service;
  return request.key.empty() ? Level::bucket : Level::object;
}

std::string_view subresource_of(const S3Request& request) {
  for (const auto& [name, value] : request.query) {
    const auto at = std::ranges::find(kSubresources, name);
    if (at != kSubresources.end()) return *at;
  }
  return "";
}

}  // namespace

bool names_operation(const S3Request& request) { return !subresource_of(request).empty(); }

const Operation* operation_of(const net::Request& raw, const S3Request& request) {
  const Level level = level_of(request);
  const std::string_view parameter = subresource_of(request);
  const auto at = std::ranges::find_if(kOperations, [&](const Operation& operation) {
    return operation.method == request.method && operation.level == level &&
           operation.parameter == parameter &&
           (operation.header.empty() || !raw.header(operation.header).empty());
  });
  return at == kOperations.end() ? nullptr : &*at;
}

std::string_view Call::action() const {
  if (!operation) return {};
  const bool by_id = !operation->version_action.empty() && s3.has("versionId");
  return by_id ? operation->version_action : operation->action;
}

}  // namespace orrery::s3server
