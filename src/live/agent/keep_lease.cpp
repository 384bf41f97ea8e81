#include "live/agent/keep_lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"

namespace orrery::agent {
namespace {

// Number of old lease objects kept below the highest, so that a late write of an old number is
// refused.
constexpr std::uint64_t kNumbersKept = 4;

std::unexpected<Diagnostics> lease_fault(const s3::Error& error) {
  Diagnostic d = s3::to_diagnostic(error);
  d.code = "lifecycle.bucket";
  return fail(std::move(d));
}

}  // namespace

BucketLease::BucketLease(std::shared_ptr<s3::Client> client, const std::string& prefix,
                         KeepOwner owner, std::function<Seconds()> up)
    : client_(std::move(client)),
      folder_(prefix + std::string(kLeaseFolder) + '/'),
      owner_(std::move(owner)),
      up_(std::move(up)) {}

std::string BucketLease::key_of(std::uint64_t number) const {
  return folder_ + fmt::format("{:010}", number);
}

std::unexpected<Diagnostics> BucketLease::busy(const Found& found, const char* code) const {
  return fail(
      {.code = code,
       .place = {.file = "s3://" + client_->config().bucket + '/' + folder_},
       .what = "another agent uses this place: " + told_of_owner(found.owner),
       .why = "with different rules, each agent could remove the copy that the other relies on",
       .fix = fmt::format("stop that agent; if it was killed, its lease expires after {:.0f} s",
                          kLeaseLasts.base())});
}

Result<BucketLease::Found> BucketLease::find() {
  Found found;
  std::string token;
  do {
    const auto page = client_->list(folder_, token);
    if (!page) return lease_fault(page.error());
    for (const s3::Entry& entry : page->entries) {
      const auto number =
          parse_integer(entry.key.substr(std::min(entry.key.size(), folder_.size())));
      if (number && *number > 0) {
        found.number = std::max(found.number, static_cast<std::uint64_t>(*number));
      }
    }
    token = page->next;
  } while (!token.empty());
  if (found.number == 0) return found;
  const auto object = client_->get(key_of(found.number));
  // The object was removed since it was listed: the lease is watched as if its owner had left no
  // details.
  if (!object && object.error().fault == s3::Fault::absent) return found;
  if (!object) return lease_fault(object.error());
  found.owner = object->bytes;
  return found;
}

Result<void> BucketLease::hold() { return is_held_ ? renew() : take(); }

Result<void> BucketLease::renew() {
  const Seconds now = up_();
  if (now - renewed_ < kLeaseRenew) return {};
  const auto put = client_->put_new(key_of(number_ + 1), s3::Body::of(text_of(owner_)));
  if (put) {
    ++number_;
    renewed_ = now;
    if (number_ > kNumbersKept) (void)client_->remove(key_of(number_ - kNumbersKept));
    return {};
  }
  if (put.error().fault == s3::Fault::precondition) {
    is_held_ = false;
    const auto found = find();
    return busy(found.value_or(Found{}), "lifecycle.busy");
  }
  // The lease is still ours for a while. After half of its duration, another agent may be about to
  // take it.
  if (up_() - renewed_ < kLeaseLasts / 2) return {};
  is_held_ = false;
  return lease_fault(put.error());
}

Result<void> BucketLease::take() {
  const auto found = find();
  if (!found) return std::unexpected(found.error());
  const Seconds now = up_();
  if (found->number > 0 && id_of_owner(found->owner) != owner_.id) {
    if (watched_ != *found) {
      has_moved_ = watched_.has_value();
      watched_ = *found;
      watched_since_ = now;
    }
    if (has_moved_) return busy(*found, "lifecycle.busy");
    if (now - watched_since_ < kLeaseLasts) return busy(*found, "lifecycle.lease");
  }
  const std::uint64_t next = found->number + 1;
  const auto put = client_->put_new(key_of(next), s3::Body::of(text_of(owner_)));
  if (!put && put.error().fault != s3::Fault::precondition) return lease_fault(put.error());
  // Whatever the answer was, the lease is ours only if our number is the highest.
  const auto after = find();
  if (!after) return std::unexpected(after.error());
  if (!put || after->number != next || id_of_owner(after->owner) != owner_.id) {
    return busy(*after, "lifecycle.lease");
  }
  number_ = next;
  renewed_ = now;
  if (auto good = check_conditions(); !good) return good;
  is_held_ = true;
  watched_.reset();
  has_moved_ = false;
  return {};
}

Result<void> BucketLease::check_conditions() {
  if (is_checked_) return {};
  const auto again = client_->put_new(key_of(number_), s3::Body::of(text_of(owner_) + "again\n"));
  if (!again && again.error().fault != s3::Fault::precondition) return lease_fault(again.error());
  if (again) {
    (void)client_->remove(key_of(number_));
    return fail(
        {.code = "lifecycle.bucket",
         .place = {.file = "s3://" + client_->config().bucket + '/' + folder_},
         .what = "the store ignores If-None-Match: it overwrote an existing object",
         .why = "without conditional writes two agents cannot detect each other",
         .fix = "use a store that supports conditional writes, or use a folder as the place"});
  }
  is_checked_ = true;
  return {};
}

void BucketLease::release() {
  if (!is_held_) return;
  is_held_ = false;
  // The highest number is removed last, because it counts until then.
  const std::uint64_t first = number_ > kNumbersKept ? number_ - kNumbersKept : 1;
  for (std::uint64_t number = first; number <= number_; ++number) {
    (void)client_->remove(key_of(number));
  }
}

}  // namespace orrery::agent
