// The codes of refusals with the status that the S3 API reference ("Error responses") gives each,
// and ours where it has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "live/store/refusal.h"

namespace orrery::store {
namespace {

TEST(RefusalCodes, have_the_status_that_is_published) {
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
      {500, {"InternalError", "what nobody knows", ""}},
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

TEST(RefusalCodes, of_a_port_say_whether_to_come_again) {
  EXPECT_EQ(refusal_of({drives::PortFault::full, "x"}).code, "InsufficientStorage");
  EXPECT_EQ(refusal_of({drives::PortFault::full, "x"}).message, "");
  EXPECT_EQ(refusal_of({drives::PortFault::busy, "x"}).code, "SlowDown");
  EXPECT_EQ(refusal_of({drives::PortFault::busy, "x"}).message,
            "A tier does not answer now; please try again: x");
  for (const drives::PortFault kind :
       {drives::PortFault::failed, drives::PortFault::missing, drives::PortFault::corrupt}) {
    EXPECT_EQ(refusal_of({kind, "x"}).code, "InternalError");
    EXPECT_EQ(refusal_of({kind, "x"}).message, "x");
  }
}

}  // namespace
}  // namespace orrery::store
