#include "live/store/refusal.h"

#include <algorithm>
#include <array>

namespace orrery::store {
namespace {

struct Known {
  std::string_view code;
  int status;
  std::string_view sentence;
};

constexpr Known kInternal{"InternalError", 500,
                          "The store has an internal error; please try again."};

constexpr auto kKnown = std::to_array<Known>({
    {"AccessDenied", 403, "Access denied."},
    {"AccessForbidden", 403, "CORS is not enabled for this bucket."},
    {"AuthorizationHeaderMalformed", 400, "The Authorization header is malformed."},
    {"AuthorizationQueryParametersError", 400, "The query parameters of the signed URL are wrong."},
    {"BadRequest", 400, "A preflight request must have an Origin header."},
    {"BadDigest", 400, "The digest in the request does not match the body that was received."},
    {"BucketAlreadyExists", 409, "A bucket with this name belongs to another tenant."},
    {"BucketAlreadyOwnedByYou", 409, "You already own a bucket with this name."},
    {"BucketNotEmpty", 409, "The bucket is not empty."},
    {"ConditionalRequestConflict", 409, "Another request changed the object at the same time."},
    {"EntityTooLarge", 400, "The object is larger than the maximum size."},
    {"EntityTooSmall", 400, "Every part except the last must be at least 5 MiB."},
    {"IllegalLocationConstraintException", 400,
     "The location constraint is not valid for this store."},
    {"IncompleteBody", 400, "The body is shorter than announced."},
    {"InsufficientStorage", 507, "The drives of the tier are full."},
    {"InvalidAccessKeyId", 403, "The access key does not exist."},
    {"InvalidArgument", 400, "An argument is invalid."},
    {"InvalidBucketName", 400, "The bucket's name is not valid."},
    {"InvalidBucketState", 409, "The request is not valid for the bucket as it is."},
    {"InvalidDigest", 400, "The Content-MD5 header is not a valid MD5 digest."},
    {"InvalidObjectState", 403, "The object is already in the fast tier."},
    {"InvalidPart", 400, "A part in the list was not uploaded, or its ETag is different."},
    {"InvalidPartOrder", 400, "The parts are not in ascending order."},
    {"InvalidRange", 416, "The range is outside the object."},
    {"InvalidRequest", 400, "The request is invalid."},
    {"InvalidRetentionPeriod", 400, "The retention period must be positive."},
    {"InvalidStorageClass", 400, "The storage class does not exist."},
    {"InvalidTag", 400, "A tag is invalid."},
    {"InvalidURI", 400, "The URI is malformed."},
    {"KeyTooLongError", 400, "The key is longer than 1024 bytes."},
    {"MalformedACLError", 400, "The ACL is malformed."},
    {"MalformedPolicy", 400, "The policy is malformed."},
    {"MalformedTrailerError", 400, "The trailer is malformed."},
    {"MalformedXML", 400, "The XML is not well-formed or not what was expected."},
    {"MetadataTooLarge", 400, "The metadata headers are larger than 2 KB."},
    {"MethodNotAllowed", 405, "This method is not allowed on this resource."},
    {"MissingContentLength", 411, "The Content-Length header is missing."},
    {"NoSuchBucket", 404, "The bucket does not exist."},
    {"NoSuchBucketPolicy", 404, "The bucket has no policy."},
    {"NoSuchCORSConfiguration", 404, "The bucket has no CORS configuration."},
    {"NoSuchKey", 404, "The key does not exist."},
    {"NoSuchLifecycleConfiguration", 404, "The bucket has no lifecycle configuration."},
    {"NoSuchObjectLockConfiguration", 404, "The object has no such lock configuration."},
    {"NoSuchPublicAccessBlockConfiguration", 404,
     "The bucket has no public access block configuration."},
    {"NoSuchTagSet", 404, "There is no tag set."},
    {"NoSuchUpload", 404, "The upload does not exist; it may have been completed or aborted."},
    {"NoSuchVersion", 404, "The version does not exist."},
    {"NotImplemented", 501, "This server does not implement this feature."},
    {"NotModified", 304, "Not modified."},
    {"ObjectLockConfigurationNotFoundError", 404, "The bucket has no object lock."},
    {"OwnershipControlsNotFoundError", 404, "The bucket has no ownership controls."},
    {"PreconditionFailed", 412, "At least one of the preconditions does not hold."},
    {"QuotaExceeded", 403, "The tenant's quota is exceeded."},
    {"RequestTimeTooSkewed", 403,
     "The time of the request differs too much from the store's clock."},
    {"RequestTimeout", 400, "The body did not arrive in time."},
    {"ServerSideEncryptionConfigurationNotFoundError", 404,
     "The bucket has no encryption configuration."},
    {"ServiceUnavailable", 503, "The store cannot handle this request now; please try again."},
    {"SignatureDoesNotMatch", 403, "The signature does not match this request."},
    {"SlowDown", 503, "Too many requests; please slow down."},
    {"TooManyBuckets", 400, "The tenant has too many buckets."},
    {"XAmzContentSHA256Mismatch", 400,
     "The SHA-256 of the body does not match x-amz-content-sha256."},
});

const Known& known(std::string_view code) {
  const auto at = std::ranges::find(kKnown, code, &Known::code);
  return at == kKnown.end() ? kInternal : *at;
}

}  // namespace

int status_of(std::string_view code) { return known(code).status; }
std::string_view sentence_of(std::string_view code) { return known(code).sentence; }

Refused refusal_of(const drives::Fault& fault) {
  if (fault.kind == drives::PortFault::full) return {"InsufficientStorage", {}, {}};
  if (fault.kind == drives::PortFault::busy) {
    return {
        "SlowDown", "Part of the store is not available now; please try again: " + fault.what, {}};
  }
  return {"InternalError", fault.what, {}};
}

}  // namespace orrery::store
