// Listings of objects, versions and uploads, and deletion of many objects in one request.
#include <algorithm>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3/sigv4.h"
#include "live/s3server/call.h"
#include "live/store/listing.h"
#include "live/store/moment.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kPageMax = 1000;
constexpr std::size_t kRemovalsMax = 1000;

Answer<std::size_t> page_size(const Call& call, std::string_view parameter) {
  const std::string_view text = call.s3.parameter(parameter);
  if (text.empty()) return kPageMax;
  const auto wanted = parse_integer(text);
  if (!wanted || *wanted < 0 || *wanted > 0x7fffffff) {
    return refused("InvalidArgument", std::string(parameter) + " is not a valid number of keys.");
  }
  return std::min(kPageMax, static_cast<std::size_t>(*wanted));
}

struct Encoding {
  bool url = false;
  std::string operator()(std::string_view text) const {
    return url ? s3::uri_encoded(text, true) : std::string(text);
  }
};

Answer<Encoding> encoding_of(const Call& call) {
  const std::string_view wanted = call.s3.parameter("encoding-type");
  if (!wanted.empty() && wanted != "url") {
    return refused("InvalidArgument", "This encoding is not supported.");
  }
  return Encoding{wanted == "url"};
}

std::string class_shown(const Version& version) {
  return version.storage_class.empty() ? "STANDARD" : version.storage_class;
}

void add_owner(s3::XmlElement& to, const std::string& id) {
  s3::XmlElement& owner = add_child(to, "Owner");
  add_text(owner, "ID", id);
  add_text(owner, "DisplayName", id);
}

void add_object(s3::XmlElement& to, const PageEntry& entry, const Encoding& encoded, bool owner) {
  s3::XmlElement& shown = add_child(to, "Contents");
  add_text(shown, "Key", encoded(entry.key));
  add_text(shown, "LastModified", xml_time(entry.version.modified_ms));
  add_text(shown, "ETag", quoted_etag(entry.version.etag));
  add_text(shown, "Size", std::to_string(entry.version.size));
  if (!entry.version.checksum.algorithm.empty()) {
    add_text(shown, "ChecksumAlgorithm", entry.version.checksum.algorithm);
    add_text(shown, "ChecksumType", entry.version.checksum.kind);
  }
  if (owner) add_owner(shown, entry.version.owner);
  add_text(shown, "StorageClass", class_shown(entry.version));
}

void add_prefixes(s3::XmlElement& to, const Page& page, const Encoding& encoded) {
  for (const PageEntry& entry : page.entries) {
    if (entry.common) add_text(add_child(to, "CommonPrefixes"), "Prefix", encoded(entry.key));
  }
}

std::string token_of(const std::string& key) { return to_hex(key); }

Answer<std::string> key_of_token(std::string_view token) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < token.size(); i += 2) {
    const auto byte = percent_decoded("%" + std::string(token.substr(i, 2)), false);
    if (!byte) {
      return refused("InvalidArgument", "This server did not issue the continuation token.");
    }
    bytes += byte->front();
  }
  return bytes;
}

// Returns the key after which a version 2 listing begins.
Answer<std::string> start_v2(const Call& call) {
  const std::string_view token = call.s3.parameter("continuation-token");
  if (!token.empty()) return key_of_token(token);
  return std::string(call.s3.parameter("start-after"));
}

void add_head_v2(const Call& call, const Page& page, const Encoding& encoded,
                 s3::XmlElement& root) {
  if (call.s3.has("start-after")) {
    add_text(root, "StartAfter", encoded(call.s3.parameter("start-after")));
  }
  if (call.s3.has("continuation-token")) {
    add_text(root, "ContinuationToken", call.s3.parameter("continuation-token"));
  }
  add_text(root, "KeyCount", std::to_string(page.entries.size()));
  if (page.truncated) {
    add_text(root, "NextContinuationToken", token_of(page.entries.back().key));
  }
}

void add_head_v1(const Call& call, const Page& page, const Encoding& encoded,
                 s3::XmlElement& root) {
  add_text(root, "Marker", encoded(call.s3.parameter("marker")));
  if (page.truncated && !call.s3.parameter("delimiter").empty()) {
    add_text(root, "NextMarker", encoded(page.entries.back().key));
  }
}

}  // namespace

Answered list_objects(Call& call) {
  const auto bucket = allowed_bucket(call, Need::list);
  if (!bucket) return std::unexpected(bucket.error());
  const auto most = page_size(call, "max-keys");
  if (!most) return std::unexpected(most.error());
  const auto encoded = encoding_of(call);
  if (!encoded) return std::unexpected(encoded.error());
  const bool second = call.s3.parameter("list-type") == "2";
  const auto after = second ? start_v2(call) : Answer<std::string>(call.s3.parameter("marker"));
  if (!after) return std::unexpected(after.error());
  const PageRequest request{.bucket = call.s3.bucket,
                            .prefix = std::string(call.s3.parameter("prefix")),
                            .delimiter = std::string(call.s3.parameter("delimiter")),
                            .after = *after,
                            .most = *most};
  const auto page = page_of_objects(call.store.metadata(), request);
  if (!page) return std::unexpected(page.error());
  s3::XmlElement root{"ListBucketResult"};
  add_text(root, "Name", call.s3.bucket);
  // Clients decode the prefix only in version 2 of the listing.
  add_text(root, "Prefix", second ? (*encoded)(request.prefix) : request.prefix);
  add_text(root, "MaxKeys", std::to_string(*most));
  if (!request.delimiter.empty()) add_text(root, "Delimiter", (*encoded)(request.delimiter));
  if (encoded->url) add_text(root, "EncodingType", "url");
  add_text(root, "IsTruncated", page->truncated ? "true" : "false");
  second ? add_head_v2(call, *page, *encoded, root) : add_head_v1(call, *page, *encoded, root);
  const bool owner = !second || call.s3.parameter("fetch-owner") == "true";
  for (const PageEntry& entry : page->entries) {
    if (!entry.common) add_object(root, entry, *encoded, owner);
  }
  add_prefixes(root, *page, *encoded);
  return xml_response(root);
}

namespace {

void add_version(s3::XmlElement& to, const PageEntry& entry, const Encoding& encoded) {
  const Version& version = entry.version;
  s3::XmlElement& shown = add_child(to, version.marker ? "DeleteMarker" : "Version");
  add_text(shown, "Key", encoded(entry.key));
  add_text(shown, "VersionId", version.id);
  add_text(shown, "IsLatest", entry.newest ? "true" : "false");
  add_text(shown, "LastModified", xml_time(version.modified_ms));
  if (!version.marker) {
    add_text(shown, "ETag", quoted_etag(version.etag));
    add_text(shown, "Size", std::to_string(version.size));
    add_text(shown, "StorageClass", class_shown(version));
  }
  add_owner(shown, version.owner);
}

}  // namespace

Answered list_versions(Call& call) {
  const auto bucket = allowed_bucket(call, Need::list);
  if (!bucket) return std::unexpected(bucket.error());
  const auto most = page_size(call, "max-keys");
  if (!most) return std::unexpected(most.error());
  const auto encoded = encoding_of(call);
  if (!encoded) return std::unexpected(encoded.error());
  const PageRequest request{.bucket = call.s3.bucket,
                            .prefix = std::string(call.s3.parameter("prefix")),
                            .delimiter = std::string(call.s3.parameter("delimiter")),
                            .after = std::string(call.s3.parameter("key-marker")),
                            .after_version = std::string(call.s3.parameter("version-id-marker")),
                            .most = *most};
  const auto page = page_of_versions(call.store.metadata(), request);
  if (!page) return std::unexpected(page.error());
  s3::XmlElement root{"ListVersionsResult"};
  add_text(root, "Name", call.s3.bucket);
  add_text(root, "Prefix", (*encoded)(request.prefix));
  add_text(root, "KeyMarker", (*encoded)(request.after));
  add_text(root, "VersionIdMarker", request.after_version);
  add_text(root, "MaxKeys", std::to_string(*most));
  if (!request.delimiter.empty()) add_text(root, "Delimiter", (*encoded)(request.delimiter));
  if (encoded->url) add_text(root, "EncodingType", "url");
  add_text(root, "IsTruncated", page->truncated ? "true" : "false");
  if (page->truncated) {
    const PageEntry& last = page->entries.back();
    add_text(root, "NextKeyMarker", (*encoded)(last.key));
    if (!last.common) add_text(root, "NextVersionIdMarker", last.version.id);
  }
  for (const PageEntry& entry : page->entries) {
    if (!entry.common) add_version(root, entry, *encoded);
  }
  add_prefixes(root, *page, *encoded);
  return xml_response(root);
}

Answered list_uploads(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const auto most = page_size(call, "max-uploads");
  if (!most) return std::unexpected(most.error());
  const auto encoded = encoding_of(call);
  if (!encoded) return std::unexpected(encoded.error());
  const std::string prefix(call.s3.parameter("prefix"));
  const std::string after(call.s3.parameter("key-marker"));
  const std::string after_id(call.s3.parameter("upload-id-marker"));
  s3::XmlElement root{"ListMultipartUploadsResult"};
  add_text(root, "Bucket", call.s3.bucket);
  add_text(root, "Prefix", (*encoded)(prefix));
  add_text(root, "KeyMarker", (*encoded)(after));
  add_text(root, "UploadIdMarker", after_id);
  add_text(root, "MaxUploads", std::to_string(*most));
  const std::string base = rows::row::uploads(call.s3.bucket);
  const auto cursor = call.store.metadata().cursor();
  std::optional<Upload> last;
  bool truncated = false;
  std::size_t shown = 0;
  for (cursor->seek(base + prefix); cursor->valid() && cursor->key().starts_with(base + prefix);
       cursor->next()) {
    auto upload = decode_upload(cursor->value());
    if (!upload || upload->key < after) continue;
    if (upload->key == after && (after_id.empty() || upload->id <= after_id)) continue;
    truncated = shown == *most;
    if (truncated) break;
    s3::XmlElement& element = add_child(root, "Upload");
    add_text(element, "Key", (*encoded)(upload->key));
    add_text(element, "UploadId", upload->id);
    add_owner(element, upload->draft.owner);
    add_text(element, "StorageClass", class_shown(upload->draft));
    add_text(element, "Initiated", xml_time(upload->started_ms));
    last = std::move(*upload);
    ++shown;
  }
  if (auto state = cursor->state(); !state) return refused(state.error());
  add_text(root, "IsTruncated", truncated ? "true" : "false");
  if (truncated && last) {
    add_text(root, "NextKeyMarker", (*encoded)(last->key));
    add_text(root, "NextUploadIdMarker", last->id);
  }
  return xml_response(root);
}

namespace {

void add_failure(s3::XmlElement& root, std::string_view key,
                 const std::optional<std::string>& version, const Refused& why) {
  s3::XmlElement& error = add_child(root, "Error");
  add_text(error, "Key", key);
  if (version) add_text(error, "VersionId", *version);
  add_text(error, "Code", why.code);
  add_text(error, "Message", sentence_of(why.code));
}

void remove_one(Call& call, const Bucket& bucket, const s3::XmlElement& object, bool quiet,
                s3::XmlElement& root) {
  const std::string key(object.text_of("Key"));
  Removal removal{.bypass_governance = passes_governance(call, bucket, key), .durable = false};
  if (const s3::XmlElement* version = object.child("VersionId")) removal.version_id = version->text;
  removal.condition.if_match = object.text_of("ETag");
  if (auto good = check_key(key); !good || key.empty()) {
    return add_failure(root, key, removal.version_id,
                       good ? Refused{"InvalidArgument", {}, {}} : good.error());
  }
  const bool by_id = removal.version_id.has_value();
  auto may = check_right(call, bucket, by_id ? "s3:DeleteObjectVersion" : "s3:DeleteObject", key,
                         by_id ? Need::own : Need::write);
  if (may) may = may_compare(call, bucket, key, removal.condition);
  if (!may) return add_failure(root, key, removal.version_id, may.error());
  const auto gone = call.store.remove(call.s3.bucket, key, removal);
  if (!gone) {
    return add_failure(root, key, removal.version_id, hidden(call, bucket, gone.error()));
  }
  if (quiet) return;
  s3::XmlElement& deleted = add_child(root, "Deleted");
  add_text(deleted, "Key", key);
  if (removal.version_id) add_text(deleted, "VersionId", *removal.version_id);
  if (!gone->marker) return;
  add_text(deleted, "DeleteMarker", "true");
  add_text(deleted, "DeleteMarkerVersionId", gone->version_id);
}

}  // namespace

Answered remove_objects(Call& call) {
  const auto bucket = call.store.bucket(call.s3.bucket);
  if (!bucket) return std::unexpected(bucket.error());
  if (net::header_of(bucket->documents, "policy").empty()) {
    if (auto may = check_bucket_access(call.who, *bucket, Need::write); !may)
      return std::unexpected(may.error());
  }
  const auto document = s3::read_xml(call.body);
  if (!document || document->name != "Delete") return refused("MalformedXML");
  const auto objects = std::ranges::count(document->children, "Object", &s3::XmlElement::name);
  if (objects == 0 || static_cast<std::size_t>(objects) > kRemovalsMax)
    return refused("MalformedXML");
  const bool quiet = document->text_of("Quiet") == "true";
  s3::XmlElement root{"DeleteResult"};
  for (const s3::XmlElement& object : document->children) {
    if (object.name == "Object") remove_one(call, *bucket, object, quiet, root);
  }
  // One sync for all of them, before any removal is acknowledged.
  if (auto kept = call.store.metadata().flush(); !kept) return refused(kept.error());
  return xml_response(root);
}

}  // namespace orrery::s3server
