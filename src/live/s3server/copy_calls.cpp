// Copies of an object, or of a range of one into a part.
#include <algorithm>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3server/call.h"
#include "live/store/moment.h"
#include "live/upkeep/quick_etag.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

Answer<void> check_source(const Call& call, const Version& version) {
  const std::string_view match = call.header("x-amz-copy-source-if-match");
  const std::string_view none = call.header("x-amz-copy-source-if-none-match");
  const auto since = moment_of_http(call.header("x-amz-copy-source-if-modified-since"));
  const auto until = moment_of_http(call.header("x-amz-copy-source-if-unmodified-since"));
  const auto same = [&](std::string_view etag) {
    return etag == "*" || etag == version.etag || etag == quoted_etag(version.etag);
  };
  const TimeMs second = version.modified_ms / 1000;
  const bool wrong = (!match.empty() && !same(match)) || (!none.empty() && same(none)) ||
                     (since && second <= *since / 1000) ||
                     (until && match.empty() && second > *until / 1000);
  if (wrong) return refused("PreconditionFailed");
  return {};
}

net::Response copied(std::string_view root, const std::string& etag, TimeMs modified,
                     const Checksum& sum) {
  s3::XmlElement result{std::string(root)};
  add_text(result, "LastModified", xml_time(modified));
  add_text(result, "ETag", quoted_etag(etag));
  if (!sum.algorithm.empty()) add_text(result, "Checksum" + sum.algorithm, sum.value);
  return xml_response(result);
}

// Copying tags needs the right to read them at the source and to write them at the target.
Answer<void> check_tag_rights(const Call& call, const Bucket& bucket, const CopySource& source) {
  const auto holder = call.store.bucket(source.bucket);
  if (!holder) return std::unexpected(holder.error());
  const std::string_view reads =
      source.version_id ? "s3:GetObjectVersionTagging" : "s3:GetObjectTagging";
  if (auto may = check_right(call, *holder, reads, source.key, Need::own); !may) return may;
  return check_right(call, bucket, "s3:PutObjectTagging", call.s3.key, Need::own);
}

// Returns the new version: it takes over what the source has, unless the request replaces it.
Answer<Version> copy_draft(Call& call, const Bucket& bucket, const CopySource& from,
                           const Version& source) {
  auto draft = draft_of(call, bucket);
  if (!draft) return draft;
  const std::string directive(call.header("x-amz-metadata-directive"));
  const std::string tag_directive(call.header("x-amz-tagging-directive"));
  for (const std::string& one : {directive, tag_directive}) {
    if (!one.empty() && one != "COPY" && one != "REPLACE") return refused("InvalidArgument");
  }
  if (directive != "REPLACE") {
    draft->headers = source.headers;
    draft->user = source.user;
  }
  if (tag_directive == "REPLACE") return draft;
  if (!source.tags.empty()) {
    if (auto may = check_tag_rights(call, bucket, from); !may) return std::unexpected(may.error());
  }
  draft->tags = source.tags;
  return draft;
}

struct PartRange {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

// Parses "bytes=0-99". Both ends must be given and inside the source.
Answer<PartRange> part_range_of(std::string_view text, std::uint64_t size) {
  if (text.empty()) return PartRange{0, size};
  if (!text.starts_with("bytes=")) return refused("InvalidArgument", "The range is malformed.");
  const auto ends = split(text.substr(6), '-');
  const auto first = ends.size() == 2 ? parse_integer(ends[0]) : std::nullopt;
  const auto last = ends.size() == 2 ? parse_integer(ends[1]) : std::nullopt;
  if (!first || !last || *first < 0 || *last < *first) {
    return refused("InvalidArgument", "The range is malformed.");
  }
  if (static_cast<std::uint64_t>(*last) >= size) return refused("InvalidRange");
  return PartRange{static_cast<std::uint64_t>(*first),
                   static_cast<std::uint64_t>(*last - *first + 1)};
}

}  // namespace

Answer<CopySource> copy_source_of(const Call& call) {
  std::string_view text = call.header("x-amz-copy-source");
  CopySource source;
  constexpr std::string_view kVersion = "?versionId=";
  if (const auto at = text.find(kVersion); at != text.npos) {
    source.version_id = std::string(text.substr(at + kVersion.size()));
    text = text.substr(0, at);
  }
  auto path = percent_decoded(text, false);
  if (!path) return refused("InvalidArgument", "The copy source is malformed.");
  if (path->starts_with('/')) path->erase(0, 1);
  const auto slash = path->find('/');
  if (slash == path->npos || slash + 1 >= path->size()) {
    return refused("InvalidArgument", "The copy source is malformed.");
  }
  source.bucket = path->substr(0, slash);
  source.key = path->substr(slash + 1);
  if (auto good = check_key(source.key); !good) return std::unexpected(good.error());
  return source;
}

Answer<OpenedObject> open_source(Call& call, const CopySource& source) {
  const auto bucket = call.store.bucket(source.bucket);
  if (!bucket) return std::unexpected(bucket.error());
  const bool by_id = source.version_id.has_value();
  auto opened = call.store.open_object(
      source.bucket, source.key, source.version_id, [&](const Version& version) -> Answer<void> {
        if (auto may = may_read(call, *bucket, source.key, version, by_id); !may) return may;
        if (version.marker) return refused(by_id ? "InvalidRequest" : "NoSuchKey");
        return check_source(call, version);
      });
  if (!opened) {
    return std::unexpected(hidden_read(call, *bucket, source.key, by_id, opened.error()));
  }
  return opened;
}

Answer<CopiedBytes> copy_bytes(Call& call, OpenedObject& from, std::uint64_t begin,
                               std::uint64_t bytes, std::string_view storage_class,
                               std::optional<SumKind> sum) {
  // A copy gets an MD5 if its source has one, or if it is small.
  const bool quick =
      bytes >= call.setting.quick_etag_bytes && from.version.etag.find('-') != std::string::npos;
  s3::Hash md5(s3::HashKind::md5);
  std::uint64_t crc = 0;
  std::optional<Summer> summer;
  if (sum) summer.emplace(*sum);
  BlobWriter writer = call.store.writer(tier_of_class(storage_class).value_or("hot"), bytes);
  const auto give_up = [&](const Fault& fault) {
    call.store.forget(writer.so_far());
    return refused(fault);
  };
  std::string piece;
  for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyBytes, bytes - done)));
    const auto got = from.reader->read(begin + done, piece);
    if (!got) return give_up(got.error());
    if (*got != piece.size()) {
      return give_up({PortFault::corrupt, "the source of the copy is shorter than its row says"});
    }
    if (quick) {
      crc = drives::content_crc(piece, crc);
    } else {
      md5.add(piece);
    }
    if (summer) summer->add(piece);
    if (auto written = writer.append(piece); !written) return give_up(written.error());
  }
  CopiedBytes copied{.blob = std::nullopt,
                     .end = {.md5 = quick ? "" : to_hex(md5.finish()), .crc = crc, .size = bytes}};
  if (summer) {
    copied.end.checksum = {std::string(name_of(*sum)), to_base64(summer->finish()), "FULL_OBJECT"};
  }
  if (bytes == 0) return copied;
  auto blob = writer.finish();
  if (!blob) return give_up(blob.error());
  copied.blob = std::move(*blob);
  return copied;
}

Answered copy_object(Call& call) {
  const auto bucket = allowed_bucket(call, Need::write);
  if (!bucket) return std::unexpected(bucket.error());
  if (auto may = check_header_rights(call, *bucket); !may) return std::unexpected(may.error());
  const WriteCondition condition = write_condition_of(call.raw);
  if (auto may = may_compare(call, *bucket, call.s3.key, condition); !may) {
    return std::unexpected(may.error());
  }
  const auto source = copy_source_of(call);
  if (!source) return std::unexpected(source.error());
  auto from = open_source(call, *source);
  if (!from) return std::unexpected(from.error());
  auto fresh = copy_draft(call, *bucket, *source, from->version);
  if (!fresh) return std::unexpected(fresh.error());
  const bool itself = source->bucket == call.s3.bucket && source->key == call.s3.key;
  if (itself && !source->version_id && call.header("x-amz-metadata-directive") != "REPLACE" &&
      call.header("x-amz-storage-class").empty()) {
    return refused("InvalidRequest",
                   "A copy of an object onto itself must replace its metadata or change its "
                   "storage class.");
  }
  const auto room = hold_quota(call, *bucket, from->version.size);
  if (!room) return std::unexpected(room.error());
  const auto wished = sum_kind_of(call.header("x-amz-checksum-algorithm"));
  const auto sum = wished ? wished : sum_kind_of(from->version.checksum.algorithm);
  auto bytes = copy_bytes(call, *from, 0, from->version.size, fresh->storage_class, sum);
  if (!bytes) return std::unexpected(bytes.error());
  fresh->size = bytes->end.size;
  fresh->checksum = bytes->end.checksum;
  const std::string id = bytes->blob ? bytes->blob->id : "";
  fresh->etag = etag_of(bytes->end, id);
  fresh->extents = {{id, fresh->size, fresh->etag, ""}};
  std::vector<Blob> blobs;
  if (bytes->blob) blobs.push_back(*bytes->blob);
  const auto put = call.store.put(call.s3.bucket, call.s3.key, *fresh, blobs, condition);
  if (!put) {
    if (!put.error().undecided && bytes->blob) call.store.forget(*bytes->blob);
    return std::unexpected(hidden(call, *bucket, put.error()));
  }
  net::Response response = copied("CopyObjectResult", put->etag, put->modified_ms, put->checksum);
  if (bucket->versioning != Versioning::off)
    response.headers.emplace_back("x-amz-version-id", put->id);
  if (from->version.id != "null") {
    response.headers.emplace_back("x-amz-copy-source-version-id", from->version.id);
  }
  return response;
}

Answered copy_part(Call& call) {
  const auto bucket = allowed_bucket(call, Need::write);
  if (!bucket) return std::unexpected(bucket.error());
  const auto upload = call.store.upload(call.s3.bucket, call.s3.key, call.s3.parameter("uploadId"));
  if (!upload) return std::unexpected(upload.error());
  const auto number = parse_integer(call.s3.parameter("partNumber"));
  if (!number || *number < 1 || *number > 10000) return refused("InvalidArgument");
  const auto source = copy_source_of(call);
  if (!source) return std::unexpected(source.error());
  auto from = open_source(call, *source);
  if (!from) return std::unexpected(from.error());
  const auto range = part_range_of(call.header("x-amz-copy-source-range"), from->version.size);
  if (!range) return std::unexpected(range.error());
  const auto room = hold_quota(call, *bucket, range->bytes);
  if (!room) return std::unexpected(room.error());
  const auto sum = sum_kind_of(upload->draft.checksum.algorithm);
  auto bytes =
      copy_bytes(call, *from, range->begin, range->bytes, upload->draft.storage_class, sum);
  if (!bytes) return std::unexpected(bytes.error());
  const std::string id = bytes->blob ? bytes->blob->id : "";
  const Part part{
      .number = static_cast<std::uint64_t>(*number),
      .modified_ms = call.store.now_ms(),
      .extent = {id, bytes->end.size, etag_of(bytes->end, id), bytes->end.checksum.value}};
  if (auto put = call.store.put_part(*upload, part, bytes->blob); !put) {
    if (!put.error().undecided && bytes->blob) call.store.forget(*bytes->blob);
    return std::unexpected(put.error());
  }
  net::Response response =
      copied("CopyPartResult", part.extent.etag, part.modified_ms, bytes->end.checksum);
  if (from->version.id != "null") {
    response.headers.emplace_back("x-amz-copy-source-version-id", from->version.id);
  }
  return response;
}

}  // namespace orrery::s3server
