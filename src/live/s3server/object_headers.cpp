// An object's headers in both directions: those of an upload, and those of GET and HEAD.
#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "live/s3server/call.h"
#include "live/store/moment.h"

namespace orrery::s3server {
namespace {

constexpr std::array<std::string_view, 6> kKept = {"Cache-Control",    "Content-Disposition",
                                                   "Content-Encoding", "Content-Language",
                                                   "Content-Type",     "Expires"};
constexpr std::string_view kMeta = "x-amz-meta-";
constexpr std::size_t kMetaBytesMax = 2048;  // S3's limit for names and values together
constexpr std::size_t kHeaderTagsMax = 10;

// The encoding of the transfer does not belong to the object, so it is removed.
std::string without_chunks(std::string_view encodings) {
  std::string out;
  for (const std::string_view one : split(encodings, ',')) {
    if (trimmed(one) == "aws-chunked" || trimmed(one).empty()) continue;
    out += (out.empty() ? "" : ",") + std::string(trimmed(one));
  }
  return out;
}

Answer<void> read_kept(const Call& call, Version& to) {
  std::size_t meta_bytes = 0;
  for (const auto& [sent, value] : call.raw.headers) {
    const std::string name = lowered(sent);
    if (name.starts_with(kMeta)) {
      meta_bytes += name.size() - kMeta.size() + value.size();
      to.user.emplace_back(name.substr(kMeta.size()), std::string(trimmed(value)));
    }
    if (name.starts_with("x-amz-grant-")) {
      return refused("NotImplemented",
                     "Grants to individual users are not supported; use a canned ACL.");
    }
    if (name.starts_with("x-amz-server-side-encryption")) {
      return refused("NotImplemented",
                     "The store decides about encryption; a request cannot ask for it.");
    }
  }
  if (meta_bytes > kMetaBytesMax) return refused("MetadataTooLarge");
  for (const std::string_view name : kKept) {
    std::string value(call.header(name));
    if (name == "Content-Encoding") value = without_chunks(value);
    if (!value.empty()) to.headers.emplace_back(name, value);
  }
  return {};
}

Answer<void> read_lock(const Call& call, const Bucket& bucket, Version& to) {
  const std::string mode(call.header("x-amz-object-lock-mode"));
  const std::string_view until = call.header("x-amz-object-lock-retain-until-date");
  const std::string_view hold = call.header("x-amz-object-lock-legal-hold");
  const bool any = !mode.empty() || !until.empty() || !hold.empty();
  if (any && !bucket.locks) return refused("InvalidRequest", "The bucket has no object lock.");
  if (mode.empty() != until.empty())
    return refused("InvalidArgument", "The mode and the retain-until date must be given together.");
  if (!hold.empty() && hold != "ON" && hold != "OFF") return refused("InvalidArgument");
  to.legal_hold = hold == "ON";
  const TimeMs now = call.store.now_ms();
  if (!mode.empty()) {
    const auto moment = moment_of_iso(until);
    if ((mode != "GOVERNANCE" && mode != "COMPLIANCE") || !moment)
      return refused("InvalidArgument");
    if (*moment <= now) return refused("InvalidArgument", "The date must be in the future.");
    to.retention = {mode, *moment};
  } else if (!bucket.lock_mode.empty()) {
    const auto days = static_cast<TimeMs>(bucket.lock_days + 365 * bucket.lock_years);
    to.retention = {bucket.lock_mode, now + days * kDayMs};
  }
  return {};
}

}  // namespace

std::string quoted_etag(std::string_view etag) { return '"' + std::string(etag) + '"'; }

WriteCondition write_condition_of(const net::Request& raw) {
  return {.if_match = std::string(raw.header("If-Match")),
          .if_none_match = std::string(raw.header("If-None-Match"))};
}

Answer<Version> draft_of(Call& call, const Bucket& bucket) {
  Version draft{.owner = call.who.tenant ? call.who.id() : bucket.owner};
  if (auto good = read_kept(call, draft); !good) return std::unexpected(good.error());
  if (net::header_of(draft.headers, "Content-Type").empty()) {
    draft.headers.emplace_back("Content-Type", "binary/octet-stream");
  }
  draft.storage_class = call.header("x-amz-storage-class");
  const auto tier = tier_of_class(draft.storage_class);
  if (!tier || !call.store.has_tier(*tier)) return refused("InvalidStorageClass");
  draft.acl = call.header("x-amz-acl");
  if (!draft.acl.empty() && !is_canned_acl(draft.acl)) {
    return refused("InvalidArgument", "This canned ACL does not exist.");
  }
  if (const std::string_view tagging = call.header("x-amz-tagging"); !tagging.empty()) {
    auto tags = tags_of_query(tagging);
    if (!tags) return std::unexpected(tags.error());
    draft.tags = std::move(*tags);
  }
  if (auto good = read_lock(call, bucket, draft); !good) return std::unexpected(good.error());
  return draft;
}

net::HeaderList headers_of(const Version& version, bool with_checksum) {
  net::HeaderList out = {{"ETag", quoted_etag(version.etag)},
                         {"Last-Modified", http_time(version.modified_ms)},
                         {"Accept-Ranges", "bytes"}};
  for (const auto& header : version.headers) out.push_back(header);
  for (const auto& [name, value] : version.user) out.emplace_back(std::string(kMeta) + name, value);
  if (!version.tags.empty())
    out.emplace_back("x-amz-tagging-count", std::to_string(version.tags.size()));
  if (!version.storage_class.empty() && version.storage_class != "STANDARD") {
    out.emplace_back("x-amz-storage-class", version.storage_class);
  }
  if (!version.retention.mode.empty()) {
    out.emplace_back("x-amz-object-lock-mode", version.retention.mode);
    out.emplace_back("x-amz-object-lock-retain-until-date", xml_time(version.retention.until_ms));
  }
  if (version.legal_hold) out.emplace_back("x-amz-object-lock-legal-hold", "ON");
  if (with_checksum && !version.checksum.algorithm.empty()) {
    if (const auto kind = sum_kind_of(version.checksum.algorithm)) {
      out.emplace_back(header_name_of(*kind), version.checksum.value);
      out.emplace_back("x-amz-checksum-type", version.checksum.kind);
    }
  }
  return out;
}

namespace {

Answer<HeaderList> checked_tags(HeaderList tags, std::size_t most) {
  if (tags.size() > most) return refused("InvalidTag", "The request has too many tags.");
  std::ranges::sort(tags);
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const auto& [name, value] = tags[i];
    if (name.empty() || name.size() > 128 || value.size() > 256) {
      return refused("InvalidTag",
                     "The key of a tag has 1 to 128 bytes, and its value has up to 256.");
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (tags[k].first == name) return refused("InvalidTag", "The same tag key appears twice.");
    }
  }
  return tags;
}

}  // namespace

Answer<HeaderList> tags_of_xml(std::string_view body, std::size_t most) {
  const auto document = s3::read_xml(body);
  if (!document || document->name != "Tagging") return refused("MalformedXML");
  const s3::XmlElement* set = document->child("TagSet");
  if (!set) return refused("MalformedXML");
  HeaderList tags;
  for (const s3::XmlElement& tag : set->children) {
    if (tag.name != "Tag" || !tag.child("Key")) return refused("MalformedXML");
    tags.emplace_back(std::string(tag.text_of("Key")), std::string(tag.text_of("Value")));
  }
  return checked_tags(std::move(tags), most);
}

Answer<HeaderList> tags_of_query(std::string_view text) {
  HeaderList tags;
  for (const std::string_view pair : split(text, '&')) {
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals), true);
    const auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return refused("InvalidArgument", "x-amz-tagging is malformed.");
    tags.emplace_back(*name, *value);
  }
  return checked_tags(std::move(tags), kHeaderTagsMax);
}

net::Response tags_answer(const HeaderList& tags) {
  s3::XmlElement root{"Tagging"};
  s3::XmlElement& set = add_child(root, "TagSet");
  for (const auto& [name, value] : tags) {
    s3::XmlElement& tag = add_child(set, "Tag");
    add_text(tag, "Key", name);
    add_text(tag, "Value", value);
  }
  return xml_response(root);
}

}  // namespace orrery::s3server
