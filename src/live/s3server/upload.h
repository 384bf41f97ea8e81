// An object, or a part of one, that is being uploaded into a tier.
//
// It begins once the header has arrived: caller, bucket, conditions and lock are checked before the
// first byte is received. finish() makes the bytes durable, commits and returns the answer; without
// it, the destructor removes what was written.
#pragma once

#include <optional>

#include "live/s3server/call.h"

namespace orrery::s3server {

class ObjectUpload {
 public:
  // Only the header of the request must outlive `call`.
  static Answer<std::unique_ptr<ObjectUpload>> begin(Call call);
  ~ObjectUpload();
  ObjectUpload(const ObjectUpload&) = delete;
  ObjectUpload& operator=(const ObjectUpload&) = delete;

  Answer<void> take(std::string_view piece);
  Answered finish();
  const Call& call() const { return call_; }

 private:
  ObjectUpload(Call call, PayloadPlan plan, BlobWriter writer);
  Answered finish_object(const PayloadEnd& end, const std::optional<Blob>& blob);
  Answered finish_part(const PayloadEnd& end, const std::optional<Blob>& blob);

  Call call_;
  Bucket bucket_;
  Version draft_;
  std::optional<Upload> upload_;  // the upload to which this part belongs
  std::uint64_t part_ = 0;
  PayloadReader reader_;
  BlobWriter writer_;
  std::unique_ptr<QuotaBook::Hold> room_;  // null: there is no quota
  bool kept_ = false;
};

}  // namespace orrery::s3server
