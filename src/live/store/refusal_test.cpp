// The HTTP status of each code as in the S3 API reference ("Error responses"), and that of our own
// codes.
#include "live/store/refusal.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace orrery::store::refusal_tests {
namespace {

TEST(Refusal, codes_have_their_published_status) {
  const std::map<int, std::vector<const char*>> by_status = {
      {304, {"NotModified"}},
      {400,
       {"AuthorizationHeaderMalformed",
        "AuthorizationQueryParametersError",
        "BadRequest",
        "BadDigest",
        "EntityTooLarge",
        "EntityTooSmall",
        "IllegalLocationConstraintException",
        "IncompleteBody",
        "InvalidArgument",
        "InvalidBucketName",
        "InvalidDigest",
        "InvalidPart",
        "InvalidPartOrder",
        "InvalidRequest",
        "InvalidRetentionPeriod",
        "InvalidStorageClass",
        "InvalidTag",
        "InvalidURI",
        "KeyTooLongError",
        "MalformedACLError",
        "MalformedPolicy",
        "MalformedTrailerError",
        "MalformedXML",
        "MetadataTooLarge",
        "RequestTimeout",
        "TooManyBuckets",
        "XAmzContentSHA256Mismatch"}},
      {403,
       {"AccessDenied", "InvalidAccessKeyId", "InvalidObjectState", "QuotaExceeded",
        "RequestTimeTooSkewed", "SignatureDoesNotMatch"}},
      {404,
       {"NoSuchBucket", "NoSuchBucketPolicy", "NoSuchCORSConfiguration", "NoSuchKey",
        "NoSuchLifecycleConfiguration", "NoSuchObjectLockConfiguration",
        "NoSuchPublicAccessBlockConfiguration", "NoSuchTagSet", "NoSuchUpload", "NoSuchVersion",
        "ObjectLockConfigurationNotFoundError", "OwnershipControlsNotFoundError",
        "ServerSideEncryptionConfigurationNotFoundError"}},
      {405, {"MethodNotAllowed"}},
      {409,
       {"BucketAlreadyExists", "BucketAlreadyOwnedByYou", "BucketNotEmpty",
        "ConditionalRequestConflict", "InvalidBucketState"}},
      {411, {"MissingContentLength"}},
      {412, {"PreconditionFailed"}},
      {416, {"InvalidRange"}},
      {500, {"InternalError", "an unknown reason", ""}},
      {501, {"NotImplemented"}},
      {503, {"ServiceUnavailable", "SlowDown"}},
      {507, {"InsufficientStorage"}},
  };
  for (const auto& [status, codes] : by_status) {
    for (const char* code : codes) {
      EXPECT_EQ(status_of(code), status) << code;
      EXPECT_FALSE(sentence_of(code).empty()) << code;
    }
  }
}

TEST(Refusal, faults_of_a_port_map_to_codes) {
  EXPECT_EQ(refusal_of({drives::PortFault::full, "x"}).code, "InsufficientStorage");
  EXPECT_EQ(refusal_of({drives::PortFault::busy, "x"}).code, "SlowDown");
  for (const drives::PortFault kind :
       {drives::PortFault::failed, drives::PortFault::missing, drives::PortFault::corrupt}) {
    EXPECT_EQ(refusal_of({kind, "x"}).code, "InternalError");
  }
}

}  // namespace
}  // namespace orrery::store::refusal_tests
