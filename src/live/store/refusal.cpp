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

constexpr Known kInternal{"InternalError", 500, "The store has a fault; please try again."};

constexpr auto kKnown = std::to_array<Known>({
    {"AccessDenied", 403, "Access denied."},
    {"AccessForbidden", 403, "CORS is not enabled for this bucket."},
    {"AuthorizationHeaderMalformed", 400, "The Authorization header is malformed."},
    {"AuthorizationQueryParametersError", 400, "The parameters of the signed URL are wrong."},
    {"BadRequest", 400, "A preflight request has an Origin header."},
    {"BadDigest", 400, "The digest that was given is not that of the bytes that came."},
    {"BucketAlreadyExists", 409, "A bucket of that name belongs to another."},
    {"BucketAlreadyOwnedByYou", 409, "You have a bucket of that name already."},
    {"BucketNotEmpty", 409, "The bucket is not empty."},
    {"ConditionalRequestConflict", 409, "Another request changed the object at the same time."},
    {"EntityTooLarge", 400, "The object is larger than is allowed."},
    {"EntityTooSmall", 400, "A part other than the last is smaller than 5 MiB."},
    {"IllegalLocationConstraintException", 400, "No such location."},
    {"IncompleteBody", 400, "Fewer bytes came than were announced."},
    {"InsufficientStorage", 507, "The drives of the tier are full."},
    {"InvalidAccessKeyId", 403, "There is no such access key."},
    {"InvalidArgument", 400, "An argument is invalid."},
    {"InvalidBucketName", 400, "The bucket's name is not valid."},
    {"InvalidBucketState", 409, "The request is not valid for the bucket as it is."},
    {"InvalidDigest", 400, "The Content-MD5 is no MD5."},
    {"InvalidObjectState", 403, "The object lies in the fast tier already."},
    {"InvalidPart", 400, "A part that is named was not uploaded, or is another."},
    {"InvalidPartOrder", 400, "The parts are not in ascending order."},
    {"InvalidRange", 416, "The range lies outside of the object."},
    {"InvalidRequest", 400, "The request is invalid."},
    {"InvalidRetentionPeriod", 400, "The period of retention must be positive."},
    {"InvalidStorageClass", 400, "There is no such storage class."},
    {"InvalidTag", 400, "A tag is invalid."},
    {"InvalidURI", 400, "The address cannot be understood."},
    {"KeyTooLongError", 400, "The key is longer than 1024 bytes."},
    {"MalformedACLError", 400, "The ACL is malformed."},
    {"MalformedPolicy", 400, "The policy is malformed."},
    {"MalformedTrailerError", 400, "The trailer is malformed."},
    {"MalformedXML", 400, "The XML is not well-formed or not what was expected."},
    {"MetadataTooLarge", 400, "The metadata are larger than 2 KB."},
    {"MethodNotAllowed", 405, "This method is not allowed against this resource."},
    {"MissingContentLength", 411, "The Content-Length header is missing."},
    {"NoSuchBucket", 404, "There is no such bucket."},
    {"NoSuchBucketPolicy", 404, "The bucket has no policy."},
    {"NoSuchCORSConfiguration", 404, "The bucket has no CORS configuration."},
    {"NoSuchKey", 404, "There is no such key."},
    {"NoSuchLifecycleConfiguration", 404, "The bucket has no lifecycle configuration."},
    {"NoSuchObjectLockConfiguration", 404, "The object has no such lock."},
    {"NoSuchPublicAccessBlockConfiguration", 404, "The bucket has no such configuration."},
    {"NoSuchTagSet", 404, "There are no tags."},
    {"NoSuchUpload", 404, "There is no such upload; it may be complete or aborted."},
    {"NoSuchVersion", 404, "There is no such version."},
    {"NotImplemented", 501, "This is not implemented here."},
    {"NotModified", 304, "Not modified."},
    {"ObjectLockConfigurationNotFoundError", 404, "The bucket has no object lock."},
    {"OwnershipControlsNotFoundError", 404, "The bucket has no such configuration."},
    {"PreconditionFailed", 412, "A precondition does not hold."},
    {"QuotaExceeded", 403, "The tenant's quota is used up."},
    {"RequestTimeTooSkewed", 403, "The request's time differs too much from the store's."},
    {"RequestTimeout", 400, "The body did not come in time."},
    {"ServerSideEncryptionConfigurationNotFoundError", 404, "No such configuration."},
    {"ServiceUnavailable", 503, "The store cannot take this now; please try again."},
    {"SignatureDoesNotMatch", 403, "The signature is not that of this request."},
    {"SlowDown", 503, "Too many requests; please slow down."},
    {"TooManyBuckets", 400, "There are too many buckets."},
    {"XAmzContentSHA256Mismatch", 400, "The body is not that of x-amz-content-sha256."},
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
    return {"SlowDown", "A tier does not answer now; please try again: " + fault.what, {}};
  }
  return {"InternalError", fault.what, {}};
}

}  // namespace orrery::store
