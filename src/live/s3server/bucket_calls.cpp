// The operations on buckets, except listing and lifecycle.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "live/s3server/call.h"
#include "live/store/moment.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kBucketTagsMax = 50;

Answer<s3::XmlElement> document_of(const Call& call, std::string_view root) {
  auto read = s3::read_xml(call.body);
  if (!read || read->name != root) return refused("MalformedXML");
  return std::move(*read);
}

Answered done(int status) { return net::Response{.status = status, .content_type = ""}; }

Answered changed(Call& call, const std::function<Answer<void>(Bucket&)>& change, int status = 200) {
  if (auto bucket = allowed_bucket(call, Need::own); !bucket)
    return std::unexpected(bucket.error());
  if (auto made = call.store.change_bucket(call.s3.bucket, change); !made) {
    return std::unexpected(made.error());
  }
  return done(status);
}

void add_owner(s3::XmlElement& to, const std::string& id, const std::string& name) {
  s3::XmlElement& owner = add_child(to, "Owner");
  add_text(owner, "ID", id);
  add_text(owner, "DisplayName", name);
}

Answer<std::string> wanted_acl(const Call& call) {
  for (const auto& [name, value] : call.raw.headers) {
    if (lowered(name).starts_with("x-amz-grant-")) {
      return refused("NotImplemented",
                     "Grants to individual users are not supported; use a canned ACL.");
    }
  }
  std::string acl(call.header("x-amz-acl"));
  if (!acl.empty() && !is_canned_acl(acl)) {
    return refused("InvalidArgument", "This canned ACL does not exist.");
  }
  return acl;
}

// There is only one location; clients know it by the region's name or as "default".
Answer<std::string> wanted_location(const Call& call) {
  if (call.body.empty()) return "";
  const auto document = document_of(call, "CreateBucketConfiguration");
  if (!document) return std::unexpected(document.error());
  std::string wanted(document->text_of("LocationConstraint"));
  if (wanted.empty() || wanted == call.setting.region || wanted == "default") return wanted;
  return refused("IllegalLocationConstraintException");
}

}  // namespace

Answered list_buckets(Call& call) {
  if (!call.who.tenant) return refused("AccessDenied");
  const auto all = call.store.buckets(call.who.id());
  if (!all) return std::unexpected(all.error());
  s3::XmlElement root{"ListAllMyBucketsResult"};
  add_owner(root, call.who.tenant->id, call.who.tenant->name);
  s3::XmlElement& list = add_child(root, "Buckets");
  for (const Bucket& bucket : *all) {
    s3::XmlElement& shown = add_child(list, "Bucket");
    add_text(shown, "Name", bucket.name);
    add_text(shown, "CreationDate", xml_time(bucket.created_ms));
  }
  return xml_response(root);
}

Answered make_bucket(Call& call) {
  if (!call.who.tenant) return refused("AccessDenied");
  if (!is_bucket_name(call.s3.bucket)) return refused("InvalidBucketName");
  auto location = wanted_location(call);
  if (!location) return std::unexpected(location.error());
  auto acl = wanted_acl(call);
  if (!acl) return std::unexpected(acl.error());
  const bool locks = lowered(call.header("x-amz-bucket-object-lock-enabled")) == "true";
  Bucket bucket{.name = call.s3.bucket,
                .owner = call.who.tenant->id,
                .created_ms = call.store.now_ms(),
                .versioning = locks ? Versioning::on : Versioning::off,
                .acl = acl->empty() ? "private" : *acl,
                .locks = locks};
  if (!location->empty()) bucket.documents.emplace_back("location", *location);
  auto made = call.store.make_bucket(bucket);
  // If its owner creates a bucket again, nothing changes and the answer is a success, as in
  // us-east-1.
  if (!made && made.error().code != "BucketAlreadyOwnedByYou") return std::unexpected(made.error());
  return net::Response{.content_type = "", .headers = {{"Location", '/' + bucket.name}}};
}

Answered head_bucket(Call& call) {
  const auto bucket = allowed_bucket(call, Need::list);
  if (!bucket) return std::unexpected(bucket.error());
  return net::Response{.content_type = "application/xml",
                       .headers = {{"x-amz-bucket-region", call.setting.region}}};
}

Answered remove_bucket(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  if (auto gone = call.store.remove_bucket(call.s3.bucket); !gone) {
    return std::unexpected(gone.error());
  }
  return done(204);
}

Answered get_location(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  // For historical reasons us-east-1 is written as an empty location.
  std::string location(net::header_of(bucket->documents, "location"));
  if (location.empty()) location = call.setting.region;
  return xml_response({"LocationConstraint", location == "us-east-1" ? "" : location, {}});
}

Answered get_versioning(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  s3::XmlElement root{"VersioningConfiguration"};
  if (bucket->versioning != Versioning::off) {
    add_text(root, "Status", bucket->versioning == Versioning::on ? "Enabled" : "Suspended");
  }
  return xml_response(root);
}

Answered put_versioning(Call& call) {
  const auto document = document_of(call, "VersioningConfiguration");
  if (!document) return std::unexpected(document.error());
  const std::string status(document->text_of("Status"));
  if (status != "Enabled" && status != "Suspended") return refused("MalformedXML");
  if (document->text_of("MfaDelete") == "Enabled") return refused("NotImplemented");
  return changed(call, [&](Bucket& bucket) -> Answer<void> {
    if (bucket.locks && status == "Suspended") {
      return refused("InvalidBucketState",
                     "Versioning cannot be suspended on a bucket with object lock.");
    }
    bucket.versioning = status == "Enabled" ? Versioning::on : Versioning::suspended;
    return {};
  });
}

Answered get_bucket_acl(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  return acl_answer(bucket->owner, bucket->acl);
}

Answered put_bucket_acl(Call& call) {
  auto acl = wanted_acl(call);
  if (!acl) return std::unexpected(acl.error());
  if (acl->empty()) return refused("NotImplemented", "Only canned ACLs are supported.");
  return changed(call, [&](Bucket& bucket) -> Answer<void> {
    bucket.acl = *acl;
    return {};
  });
}

Answered get_bucket_tags(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  if (bucket->tags.empty()) return refused("NoSuchTagSet");
  return tags_answer(bucket->tags);
}

Answered put_bucket_tags(Call& call) {
  auto tags = tags_of_xml(call.body, kBucketTagsMax);
  if (!tags) return std::unexpected(tags.error());
  return changed(
      call,
      [&](Bucket& bucket) -> Answer<void> {
        bucket.tags = *tags;
        return {};
      },
      204);
}

Answered remove_bucket_tags(Call& call) {
  return changed(
      call,
      [](Bucket& bucket) -> Answer<void> {
        bucket.tags.clear();
        return {};
      },
      204);
}

Answered get_lock(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  if (!bucket->locks) return refused("ObjectLockConfigurationNotFoundError");
  s3::XmlElement root{"ObjectLockConfiguration"};
  add_text(root, "ObjectLockEnabled", "Enabled");
  if (!bucket->lock_mode.empty()) {
    s3::XmlElement& rule = add_child(root, "Rule");
    s3::XmlElement& retention = add_child(rule, "DefaultRetention");
    add_text(retention, "Mode", bucket->lock_mode);
    if (bucket->lock_days > 0) add_text(retention, "Days", std::to_string(bucket->lock_days));
    if (bucket->lock_years > 0) add_text(retention, "Years", std::to_string(bucket->lock_years));
  }
  return xml_response(root);
}

namespace {

struct DefaultRetention {
  std::string mode;
  std::uint64_t days = 0;
  std::uint64_t years = 0;
};

Answer<DefaultRetention> default_retention_of(const s3::XmlElement& document) {
  DefaultRetention to;
  const s3::XmlElement* rule = document.child("Rule");
  if (!rule) return to;
  const s3::XmlElement* retention = rule->child("DefaultRetention");
  if (!retention) return refused("MalformedXML");
  to.mode = retention->text_of("Mode");
  if (to.mode != "GOVERNANCE" && to.mode != "COMPLIANCE") return refused("MalformedXML");
  const bool has_days = retention->child("Days") != nullptr;
  if (has_days == (retention->child("Years") != nullptr)) return refused("MalformedXML");
  const auto period = parse_integer(retention->text_of(has_days ? "Days" : "Years"));
  if (!period || *period <= 0 || *period > 36500) return refused("InvalidRetentionPeriod");
  (has_days ? to.days : to.years) = static_cast<std::uint64_t>(*period);
  return to;
}

}  // namespace

Answered put_lock(Call& call) {
  const auto document = document_of(call, "ObjectLockConfiguration");
  if (!document) return std::unexpected(document.error());
  if (document->text_of("ObjectLockEnabled") != "Enabled") return refused("MalformedXML");
  const auto retention = default_retention_of(*document);
  if (!retention) return std::unexpected(retention.error());
  return changed(call, [&](Bucket& bucket) -> Answer<void> {
    if (!bucket.locks && bucket.versioning != Versioning::on) {
      return refused("InvalidBucketState", "Object lock needs a bucket with versioning enabled.");
    }
    bucket.locks = true;
    bucket.lock_mode = retention->mode;
    bucket.lock_days = retention->days;
    bucket.lock_years = retention->years;
    return {};
  });
}

}  // namespace orrery::s3server
