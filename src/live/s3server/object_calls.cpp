// Reading, removing and describing objects.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "live/s3server/call.h"
#include "live/store/moment.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kTagsMax = 10;
constexpr std::uint64_t kHeldBytes = 64u << 10;  // an answer up to this size is sent in one piece
constexpr std::string_view kOverrides[] = {"cache-control",    "content-disposition",
                                           "content-encoding", "content-language",
                                           "content-type",     "expires"};

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  bool partial = false;
};

bool matches(std::string_view wanted, const Version& version) {
  return std::ranges::any_of(split(wanted, ','), [&](std::string_view one) {
    const std::string_view etag = trimmed(one);
    return etag == "*" || etag == version.etag || etag == quoted_etag(version.etag);
  });
}

// RFC 9110, 13.2.2: conditions on ETags take precedence over dates.
Answer<void> check_read_conditions(const net::Request& raw, const Version& version) {
  const std::string_view match = raw.header("If-Match");
  const std::string_view none_match = raw.header("If-None-Match");
  const auto second = [](TimeMs moment) { return moment / 1000; };
  if (!match.empty() && !matches(match, version)) return refused("PreconditionFailed");
  if (const auto since = moment_of_http(raw.header("If-Unmodified-Since"));
      match.empty() && since && second(version.modified_ms) > second(*since)) {
    return refused("PreconditionFailed");
  }
  const auto unchanged = [&] {
    return std::unexpected(Refused{
        "NotModified",
        {},
        {{"ETag", quoted_etag(version.etag)}, {"Last-Modified", http_time(version.modified_ms)}}});
  };
  if (!none_match.empty() && matches(none_match, version)) return unchanged();
  if (const auto since = moment_of_http(raw.header("If-Modified-Since"));
      none_match.empty() && since && second(version.modified_ms) <= second(*since)) {
    return unchanged();
  }
  return {};
}

// Parses one range of bytes; a malformed range is ignored, as RFC 9110 requires.
Answer<ByteRange> range_of(std::string_view text, std::uint64_t size) {
  const ByteRange whole{0, size, false};
  if (!text.starts_with("bytes=") || text.find(',') != text.npos) return whole;
  const auto ends = split(text.substr(6), '-');
  if (ends.size() != 2) return whole;
  const auto first = parse_integer(trimmed(ends[0]));
  const auto last = parse_integer(trimmed(ends[1]));
  const auto outside = [&] {
    return std::unexpected(
        Refused{"InvalidRange", {}, {{"Content-Range", fmt::format("bytes */{}", size)}}});
  };
  if (!first && !ends[0].empty()) return whole;
  if (!last && !ends[1].empty()) return whole;
  if (!first) {
    if (!last) return whole;
    const auto tail = std::min(static_cast<std::uint64_t>(*last), size);
    if (tail == 0) return outside();
    return ByteRange{size - tail, tail, true};
  }
  const auto begin = static_cast<std::uint64_t>(*first);
  if (last && *last < *first) return whole;
  if (begin >= size) return outside();
  const std::uint64_t end = last ? std::min(static_cast<std::uint64_t>(*last) + 1, size) : size;
  return ByteRange{begin, end - begin, true};
}

// Returns the range of one part of a multipart object.
Answer<ByteRange> part_range(const Version& version, std::string_view number) {
  const auto part = parse_integer(number);
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, version.extents.size()));
  if (!part || *part < 1 || *part > 10000)
    return refused("InvalidArgument", "The part number is invalid.");
  if (*part > count) return refused("InvalidPart", "The object has fewer parts than that.");
  ByteRange range{0, version.size, version.multipart};
  if (!version.multipart) return range;
  for (std::int64_t i = 0; i + 1 < *part; ++i) {
    range.begin += version.extents[static_cast<std::size_t>(i)].size;
  }
  range.bytes = version.extents[static_cast<std::size_t>(*part - 1)].size;
  return range;
}

Answer<void> override_headers(const Call& call, net::HeaderList& headers) {
  for (const std::string_view name : kOverrides) {
    const std::string parameter = "response-" + std::string(name);
    if (!call.s3.has(parameter)) continue;
    if (!call.who.tenant)
      return refused("InvalidRequest", "Only signed requests may override response headers.");
    std::erase_if(headers, [&](const auto& header) { return lowered(header.first) == name; });
    headers.emplace_back(name, std::string(call.s3.parameter(parameter)));
  }
  return {};
}

// A delete marker is not an object. The error depends on whether the request named its version.
Answer<void> check_is_object(const Call& call, const Version& version) {
  if (!version.marker) return {};
  const bool named = call.s3.version_id().has_value();
  return std::unexpected(
      Refused{named ? "MethodNotAllowed" : "NoSuchKey",
              {},
              {{"x-amz-delete-marker", "true"}, {"x-amz-version-id", version.id}}});
}

// Tags and locks are shown only to callers who may also request them directly (API reference,
// GetObject).
void hide_headers(const Call& call, const Bucket& bucket, const Version& version,
                  net::HeaderList& headers) {
  const auto hide = [&](bool there, std::string_view action, std::string_view name) {
    if (!there || check_right(call, bucket, action, call.s3.key, Need::own)) return;
    std::erase_if(headers, [name](const auto& header) { return header.first.starts_with(name); });
  };
  const bool by_id = call.s3.has("versionId");
  hide(!version.tags.empty(), by_id ? "s3:GetObjectVersionTagging" : "s3:GetObjectTagging",
       "x-amz-tagging-count");
  hide(!version.retention.mode.empty(), "s3:GetObjectRetention", "x-amz-object-lock-mode");
  hide(!version.retention.mode.empty(), "s3:GetObjectRetention",
       "x-amz-object-lock-retain-until-date");
  hide(version.legal_hold, "s3:GetObjectLegalHold", "x-amz-object-lock-legal-hold");
}

struct Found {
  Bucket bucket;
  OpenedObject object;
  net::Response response;
  ByteRange range;
};

Answer<Found> found_object(Call& call) {
  auto bucket = call.store.bucket(call.s3.bucket);
  if (!bucket) return std::unexpected(bucket.error());
  const bool by_id = call.s3.has("versionId");
  auto object = call.store.open_object(
      call.s3.bucket, call.s3.key, call.s3.version_id(),
      [&](const Version& version) -> Answer<void> {
        if (auto may = may_read(call, *bucket, call.s3.key, version, by_id); !may) return may;
        if (auto good = check_is_object(call, version); !good) return good;
        return check_read_conditions(call.raw, version);
      });
  if (!object) {
    return std::unexpected(hidden_read(call, *bucket, call.s3.key, by_id, object.error()));
  }
  const Version& version = object->version;
  const std::string_view number = call.s3.parameter("partNumber");
  auto range =
      number.empty() ? range_of(call.header("Range"), version.size) : part_range(version, number);
  if (!range) return std::unexpected(range.error());
  net::Response response{.status = range->partial ? 206 : 200, .content_type = ""};
  const bool sums = call.header("x-amz-checksum-mode") == "ENABLED" && !range->partial;
  response.headers = headers_of(version, sums);
  hide_headers(call, *bucket, version, response.headers);
  response.length = range->bytes;
  if (range->partial) {
    response.headers.emplace_back(
        "Content-Range",
        fmt::format("bytes {}-{}/{}", range->begin,
                    range->begin + std::max<std::uint64_t>(range->bytes, 1) - 1, version.size));
  }
  if (!number.empty() && version.multipart) {
    response.headers.emplace_back("x-amz-mp-parts-count", std::to_string(version.extents.size()));
  }
  if (bucket->versioning != Versioning::off)
    response.headers.emplace_back("x-amz-version-id", version.id);
  const std::string restored = restore_of(version, call.store.now_ms());
  if (!restored.empty()) response.headers.emplace_back("x-amz-restore", restored);
  const std::string ends = expiration_of(*bucket, call.s3.key, version);
  if (!ends.empty()) response.headers.emplace_back("x-amz-expiration", ends);
  if (auto good = override_headers(call, response.headers); !good)
    return std::unexpected(good.error());
  return Found{std::move(*bucket), std::move(*object), std::move(response), *range};
}

}  // namespace

Answered head_object(Call& call) {
  auto found = found_object(call);
  if (!found) return std::unexpected(found.error());
  return std::move(found->response);
}

namespace {

// Reads of a slow tier are recorded, because such objects may be promoted to the fast tier.
void count_read(Call& call, const Version& version, std::uint64_t bytes) {
  const std::string tier = tier_of(version);
  const bool slow = tier_of_class(version.storage_class) != "hot";
  if (slow) call.store.reads().note(call.s3.bucket, call.s3.key, version.id, call.store.now_ms());
  if (!call.counts) return;
  const auto rank = static_cast<std::size_t>(tier_rank(tier));
  if (rank >= call.counts->tiers.size()) return;
  ++call.counts->tiers[rank].reads;
  call.counts->tiers[rank].bytes += bytes;
  if (!slow) return;
  ++call.counts->slow_reads;
  if (tier == "hot") ++call.counts->promoted_hits;
}

}  // namespace

namespace {

Answered read_found(Call& call, Found& found) {
  net::Response response = std::move(found.response);
  const ByteRange range = found.range;
  count_read(call, found.object.version, range.bytes);
  std::shared_ptr<ObjectReader> reader = std::move(found.object.reader);
  if (range.bytes <= kHeldBytes) {
    response.body.resize(static_cast<std::size_t>(range.bytes));
    const auto got = reader->read(range.begin, response.body);
    if (!got) return refused(got.error());
    response.length.reset();
    return response;
  }
  // If nothing can be read at all, this is reported with its own error before the answer begins.
  char first = 0;
  if (const auto got = reader->read(range.begin, {&first, 1}); !got) return refused(got.error());
  response.source = [reader, range](std::uint64_t offset,
                                    std::span<char> into) -> std::optional<std::size_t> {
    const std::uint64_t left = range.bytes - std::min(range.bytes, offset);
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(left, into.size()));
    const auto got = reader->read(range.begin + offset, into.first(some));
    if (!got) return std::nullopt;
    return *got;
  };
  return response;
}

}  // namespace

Answered get_object(Call& call) {
  auto found = found_object(call);
  if (!found) return std::unexpected(found.error());
  if (call.may_wait || found->object.reader->is_held()) return read_found(call, *found);
  call.rest = [kept = std::make_shared<Found>(std::move(*found))](Call& whole) {
    return read_found(whole, *kept);
  };
  return net::Response{};
}

Answered remove_object(Call& call) {
  // Removing a named version is permanent, so only the owner may do it.
  const auto bucket = allowed_bucket(call, call.s3.has("versionId") ? Need::own : Need::write);
  if (!bucket) return std::unexpected(bucket.error());
  const Removal removal{.version_id = call.s3.version_id(),
                        .bypass_governance = passes_governance(call, *bucket, call.s3.key),
                        .condition = {.if_match = std::string(call.header("If-Match"))}};
  if (auto may = may_compare(call, *bucket, call.s3.key, removal.condition); !may) {
    return std::unexpected(may.error());
  }
  const auto gone = call.store.remove(call.s3.bucket, call.s3.key, removal);
  if (!gone) return std::unexpected(hidden(call, *bucket, gone.error()));
  net::Response response{.status = 204, .content_type = ""};
  if (gone->marker) response.headers.emplace_back("x-amz-delete-marker", "true");
  if (!gone->version_id.empty())
    response.headers.emplace_back("x-amz-version-id", gone->version_id);
  return response;
}

namespace {

// Returns the version for its owner, unless it is a delete marker.
Answer<Version> owned_version(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  auto version = call.store.find(call.s3.bucket, call.s3.key, call.s3.version_id());
  if (!version) return std::unexpected(hidden(call, *bucket, version.error()));
  if (auto good = check_is_object(call, *version); !good) {
    return std::unexpected(hidden(call, *bucket, good.error()));
  }
  return version;
}

Answered change_owned(Call& call,
                      const std::function<Answer<void>(const Bucket&, Version&)>& change,
                      int status) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const auto version = call.store.change_version(call.s3.bucket, call.s3.key, call.s3.version_id(),
                                                 [&](Version& v) { return change(*bucket, v); });
  if (!version) return std::unexpected(hidden(call, *bucket, version.error()));
  net::Response response{.status = status, .content_type = ""};
  if (bucket->versioning != Versioning::off)
    response.headers.emplace_back("x-amz-version-id", version->id);
  return response;
}

Answer<s3::XmlElement> lock_document(const Call& call, std::string_view root) {
  auto read = s3::read_xml(call.body);
  if (!read || read->name != root) return refused("MalformedXML");
  return std::move(*read);
}

}  // namespace

Answered get_tags(Call& call) {
  const auto version = owned_version(call);
  if (!version) return std::unexpected(version.error());
  return tags_answer(version->tags);
}

Answered put_tags(Call& call) {
  auto tags = tags_of_xml(call.body, kTagsMax);
  if (!tags) return std::unexpected(tags.error());
  return change_owned(
      call,
      [&](const Bucket&, Version& version) -> Answer<void> {
        version.tags = *tags;
        return {};
      },
      200);
}

Answered remove_tags(Call& call) {
  return change_owned(
      call,
      [](const Bucket&, Version& version) -> Answer<void> {
        version.tags.clear();
        return {};
      },
      204);
}

Answered get_object_acl(Call& call) {
  const auto version = owned_version(call);
  if (!version) return std::unexpected(version.error());
  return acl_answer(version->owner, version->acl);
}

Answered put_object_acl(Call& call) {
  const std::string acl(call.header("x-amz-acl"));
  if (acl.empty()) return refused("NotImplemented", "Only canned ACLs are supported.");
  if (!is_canned_acl(acl)) return refused("InvalidArgument", "This canned ACL does not exist.");
  return change_owned(
      call,
      [&](const Bucket&, Version& version) -> Answer<void> {
        version.acl = acl;
        return {};
      },
      200);
}

Answered get_retention(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  if (!bucket->locks) return refused("InvalidRequest", "The bucket has no object lock.");
  const auto version = owned_version(call);
  if (!version) return std::unexpected(version.error());
  if (version->retention.mode.empty()) return refused("NoSuchObjectLockConfiguration");
  s3::XmlElement root{"Retention"};
  add_text(root, "Mode", version->retention.mode);
  add_text(root, "RetainUntilDate", xml_time(version->retention.until_ms));
  return xml_response(root);
}

Answered put_retention(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  if (!bucket->locks) return refused("InvalidRequest", "The bucket has no object lock.");
  const auto document = lock_document(call, "Retention");
  if (!document) return std::unexpected(document.error());
  const std::string mode(document->text_of("Mode"));
  const auto until = moment_of_iso(document->text_of("RetainUntilDate"));
  if ((mode != "GOVERNANCE" && mode != "COMPLIANCE") || !until) return refused("MalformedXML");
  const bool bypass = passes_governance(call, *bucket, call.s3.key);
  return change_owned(
      call,
      [&](const Bucket&, Version& version) -> Answer<void> {
        const Retention& now = version.retention;
        const bool runs = !now.mode.empty() && now.until_ms > call.store.now_ms();
        // Retention may always be extended or made stricter. It may be shortened or relaxed only in
        // governance mode.
        const bool weaker = *until < now.until_ms ||
                            (now.mode == "COMPLIANCE" && mode != now.mode) ||
                            (now.mode == "GOVERNANCE" && mode != now.mode);
        if (runs && weaker && !(now.mode == "GOVERNANCE" && bypass)) return refused("AccessDenied");
        version.retention = {mode, *until};
        return {};
      },
      200);
}

Answered get_legal_hold(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  if (!bucket->locks) return refused("InvalidRequest", "The bucket has no object lock.");
  const auto version = owned_version(call);
  if (!version) return std::unexpected(version.error());
  s3::XmlElement root{"LegalHold"};
  add_text(root, "Status", version->legal_hold ? "ON" : "OFF");
  return xml_response(root);
}

Answered put_legal_hold(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  if (!bucket->locks) return refused("InvalidRequest", "The bucket has no object lock.");
  const auto document = lock_document(call, "LegalHold");
  if (!document) return std::unexpected(document.error());
  const std::string status(document->text_of("Status"));
  if (status != "ON" && status != "OFF") return refused("MalformedXML");
  return change_owned(
      call,
      [&](const Bucket&, Version& version) -> Answer<void> {
        version.legal_hold = status == "ON";
        return {};
      },
      200);
}

Answered get_attributes(Call& call) {
  const auto bucket = call.store.bucket(call.s3.bucket);
  if (!bucket) return std::unexpected(bucket.error());
  const std::string_view reads = call.s3.has("versionId") ? "s3:GetObjectVersion" : "s3:GetObject";
  if (auto may = check_right(call, *bucket, reads, call.s3.key, Need::own); !may) {
    return std::unexpected(may.error());
  }
  const auto version = owned_version(call);
  if (!version) return std::unexpected(version.error());
  const std::string wanted = lowered(call.header("x-amz-object-attributes"));
  const auto asks = [&](std::string_view name) { return wanted.find(name) != wanted.npos; };
  s3::XmlElement root{"GetObjectAttributesResponse"};
  if (asks("etag")) add_text(root, "ETag", version->etag);
  if (asks("checksum") && !version->checksum.algorithm.empty()) {
    s3::XmlElement& sum = add_child(root, "Checksum");
    add_text(sum, "Checksum" + version->checksum.algorithm, version->checksum.value);
    add_text(sum, "ChecksumType", version->checksum.kind);
  }
  if (asks("objectparts") && version->multipart) {
    s3::XmlElement& parts = add_child(root, "ObjectParts");
    add_text(parts, "TotalPartsCount", std::to_string(version->extents.size()));
  }
  if (asks("storageclass")) {
    add_text(root, "StorageClass",
             version->storage_class.empty() ? "STANDARD" : version->storage_class);
  }
  if (asks("objectsize")) add_text(root, "ObjectSize", std::to_string(version->size));
  net::Response response = xml_response(root);
  response.headers.emplace_back("Last-Modified", http_time(version->modified_ms));
  return response;
}

}  // namespace orrery::s3server
