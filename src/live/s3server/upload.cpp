#include "live/s3server/upload.h"

#include "core/base/text.h"

namespace orrery::s3server {
namespace {

// Limits of S3 for an object put in one piece, and for a part.
constexpr std::uint64_t kPutBytesMax = std::uint64_t{5} << 30;
constexpr std::int64_t kPartNumberMax = 10000;

Extent extent_of(const PayloadEnd& end, const std::optional<Blob>& blob) {
  const std::string id = blob ? blob->id : "";
  return {id, end.size, etag_of(end, id), end.checksum.value};
}

// Checks whether the object may be put, before its first byte is received.
Answer<void> check_begin(Call& call, const Bucket& bucket) {
  if (auto may = check_header_rights(call, bucket); !may) return may;
  const WriteCondition condition = write_condition_of(call.raw);
  if (auto may = may_compare(call, bucket, call.s3.key, condition); !may) return may;
  const auto head = call.store.find(call.s3.bucket, call.s3.key, std::nullopt);
  const auto now = head ? std::optional(*head) : std::nullopt;
  if (auto good = check_condition(condition, now); !good) {
    return std::unexpected(hidden(call, bucket, good.error()));
  }
  return {};
}

void add_checksum(net::Response& response, const Checksum& checksum) {
  if (const auto kind = sum_kind_of(checksum.algorithm)) {
    response.headers.emplace_back(header_name_of(*kind), checksum.value);
    response.headers.emplace_back("x-amz-checksum-type", checksum.kind);
  }
}

}  // namespace

ObjectUpload::ObjectUpload(Call call, PayloadPlan plan, BlobWriter writer)
    : call_(std::move(call)), reader_(std::move(plan)), writer_(std::move(writer)) {}

ObjectUpload::~ObjectUpload() {
  if (!kept_) call_.store.forget(writer_.so_far());
}

Answer<std::unique_ptr<ObjectUpload>> ObjectUpload::begin(Call call) {
  auto bucket = allowed_bucket(call, Need::write);
  if (!bucket) return std::unexpected(bucket.error());
  auto plan = payload_plan_of(call.raw, call.who, call.setting.quick_etag_bytes);
  if (!plan) return std::unexpected(plan.error());
  if (plan->length.value_or(0) > kPutBytesMax) return refused("EntityTooLarge");
  auto room = hold_quota(call, *bucket, plan->length.value_or(0));
  if (!room) return std::unexpected(room.error());
  auto draft = draft_of(call, *bucket);
  if (!draft) return std::unexpected(draft.error());
  std::optional<Upload> upload;
  std::int64_t part = 0;
  if (call.s3.has("uploadId")) {
    auto found = call.store.upload(call.s3.bucket, call.s3.key, call.s3.parameter("uploadId"));
    if (!found) return std::unexpected(found.error());
    upload = std::move(*found);
    part = parse_integer(call.s3.parameter("partNumber")).value_or(0);
    if (part < 1 || part > kPartNumberMax)
      return refused("InvalidArgument", "The part number is invalid.");
    draft->storage_class = upload->draft.storage_class;
    const auto wanted = sum_kind_of(upload->draft.checksum.algorithm);
    if (plan->sum && wanted && plan->sum != wanted) {
      return refused("InvalidRequest", "The upload was started with another checksum algorithm.");
    }
    if (!plan->sum) plan->sum = wanted;
  } else if (auto good = check_begin(call, *bucket); !good) {
    return std::unexpected(good.error());
  }
  BlobWriter writer = call.store.writer(tier_of_class(draft->storage_class).value_or("hot"),
                                        plan->length.value_or(0));
  std::unique_ptr<ObjectUpload> made(
      new ObjectUpload(std::move(call), std::move(*plan), std::move(writer)));
  made->bucket_ = std::move(*bucket);
  made->draft_ = std::move(*draft);
  made->upload_ = std::move(upload);
  made->part_ = static_cast<std::uint64_t>(part);
  made->room_ = std::move(*room);
  return made;
}

Answer<void> ObjectUpload::take(std::string_view piece) {
  return reader_.take(piece, [this](std::string_view bytes) -> Answer<void> {
    if (auto done = writer_.append(bytes); !done) return refused(done.error());
    if (writer_.size() > kPutBytesMax) return refused("EntityTooLarge");
    // For bodies whose length was not announced.
    return room_ ? room_->extend_to(writer_.size()) : Answer<void>();
  });
}

Answered ObjectUpload::finish() {
  const auto end = reader_.finish();
  if (!end) return std::unexpected(end.error());
  std::optional<Blob> blob;
  if (end->size > 0) {
    auto written = writer_.finish();
    if (!written) return refused(written.error());
    blob = std::move(*written);
  }
  auto answered = upload_ ? finish_part(*end, blob) : finish_object(*end, blob);
  room_.reset();  // the stored bytes are now counted
  return answered;
}

Answered ObjectUpload::finish_object(const PayloadEnd& end, const std::optional<Blob>& blob) {
  Version fresh = draft_;
  fresh.size = end.size;
  fresh.checksum = end.checksum;
  fresh.extents = {extent_of(end, blob)};
  fresh.etag = fresh.extents.front().etag;
  std::vector<Blob> blobs;
  if (blob) blobs.push_back(*blob);
  const auto put =
      call_.store.put(call_.s3.bucket, call_.s3.key, fresh, blobs, write_condition_of(call_.raw));
  // If the outcome of the commit is unknown, the bytes stay; if no row names them, the next run
  // sweeps them.
  kept_ = put || put.error().undecided;
  if (!put) return std::unexpected(hidden(call_, bucket_, put.error()));
  net::Response response{.content_type = "", .headers = {{"ETag", quoted_etag(put->etag)}}};
  if (put->id != "null") response.headers.emplace_back("x-amz-version-id", put->id);
  add_checksum(response, put->checksum);
  const std::string ends = expiration_of(bucket_, call_.s3.key, *put);
  if (!ends.empty()) response.headers.emplace_back("x-amz-expiration", ends);
  return response;
}

Answered ObjectUpload::finish_part(const PayloadEnd& end, const std::optional<Blob>& blob) {
  const Part part{
      .number = part_, .modified_ms = call_.store.now_ms(), .extent = extent_of(end, blob)};
  const auto put = call_.store.put_part(*upload_, part, blob);
  kept_ = put || put.error().undecided;
  if (!put) return std::unexpected(put.error());
  net::Response response{.content_type = "", .headers = {{"ETag", quoted_etag(part.extent.etag)}}};
  if (const auto kind = sum_kind_of(end.checksum.algorithm)) {
    response.headers.emplace_back(header_name_of(*kind), end.checksum.value);
  }
  return response;
}

}  // namespace orrery::s3server
