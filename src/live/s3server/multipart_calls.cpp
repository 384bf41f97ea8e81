// Multipart uploads: begun, listed, completed, aborted. upload.cpp receives the parts themselves.
#include <fmt/core.h>

#include <algorithm>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/s3server/call.h"
#include "live/store/moment.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kPartsPage = 1000;

struct ChosenPart {
  std::uint64_t number = 0;
  std::string etag;
  std::string checksum;
};

Answer<std::vector<ChosenPart>> chosen_parts(const Call& call, const std::string& algorithm) {
  const auto document = s3::read_xml(call.body);
  if (!document || document->name != "CompleteMultipartUpload" || document->children.empty()) {
    return refused("MalformedXML");
  }
  std::vector<ChosenPart> chosen;
  for (const s3::XmlElement& part : document->children) {
    if (part.name != "Part") continue;
    const auto number = parse_integer(part.text_of("PartNumber"));
    std::string etag(part.text_of("ETag"));
    std::erase(etag, '"');
    if (!number || *number < 1 || *number > 10000) return refused("InvalidPart");
    if (!chosen.empty() && chosen.back().number > static_cast<std::uint64_t>(*number)) {
      return refused("InvalidPartOrder");
    }
    // A part that was sent twice may be listed twice; the later entry counts.
    if (!chosen.empty() && chosen.back().number == static_cast<std::uint64_t>(*number)) {
      chosen.pop_back();
    }
    chosen.push_back({static_cast<std::uint64_t>(*number), std::move(etag),
                      std::string(part.text_of("Checksum" + algorithm))});
  }
  if (chosen.empty()) return refused("MalformedXML");
  return chosen;
}

Answer<std::vector<Extent>> extents_of(const std::vector<ChosenPart>& chosen,
                                       const std::vector<Part>& parts, std::uint64_t bytes_min) {
  std::vector<Extent> extents;
  for (const ChosenPart& wanted : chosen) {
    const auto part = std::ranges::find(parts, wanted.number, &Part::number);
    if (part == parts.end() || part->extent.etag != wanted.etag) return refused("InvalidPart");
    if (!wanted.checksum.empty() && wanted.checksum != part->extent.checksum) {
      return refused("InvalidPart");
    }
    extents.push_back(part->extent);
  }
  for (std::size_t i = 0; i + 1 < extents.size(); ++i) {
    if (extents[i].size < bytes_min) return refused("EntityTooSmall");
  }
  return extents;
}

// The MD5 of the parts' MD5s and the number of parts, as in S3. For a part without an MD5, the
// digits of its ETag are used.
std::string joined_etag(const std::vector<Extent>& extents) {
  std::string all;
  for (const Extent& extent : extents) {
    const std::string digits = extent.etag.substr(0, extent.etag.find('-'));
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      all += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
  }
  return to_hex(s3::md5(all)) + '-' + std::to_string(extents.size());
}

Checksum joined_sum(const Checksum& wish, const std::vector<Extent>& extents) {
  const auto kind = sum_kind_of(wish.algorithm);
  const bool all = kind && std::ranges::all_of(extents, [](const Extent& e) {
                     return !e.checksum.empty() && from_base64(e.checksum);
                   });
  if (!all) return {};
  const bool whole = wish.kind == "FULL_OBJECT" && is_linear(*kind);
  if (whole) {
    std::string sum = *from_base64(extents.front().checksum);
    for (std::size_t i = 1; i < extents.size(); ++i) {
      sum = joined_crc(*kind, sum, *from_base64(extents[i].checksum), extents[i].size);
    }
    return {wish.algorithm, to_base64(sum), "FULL_OBJECT"};
  }
  Summer sum(*kind);
  for (const Extent& extent : extents) sum.add(*from_base64(extent.checksum));
  return {wish.algorithm, fmt::format("{}-{}", to_base64(sum.finish()), extents.size()),
          "COMPOSITE"};
}

Answer<Checksum> sum_wish_of(const Call& call) {
  Checksum wish;
  const std::string_view algorithm = call.header("x-amz-checksum-algorithm");
  if (algorithm.empty()) return wish;
  const auto kind = sum_kind_of(algorithm);
  if (!kind) return refused("InvalidRequest", "This checksum algorithm is not supported.");
  wish.algorithm = name_of(*kind);
  wish.kind = call.header("x-amz-checksum-type");
  if (wish.kind.empty()) wish.kind = *kind == SumKind::crc64nvme ? "FULL_OBJECT" : "COMPOSITE";
  if (wish.kind == "FULL_OBJECT" && !is_linear(*kind)) return refused("InvalidRequest");
  return wish;
}

net::Response completed(const Call& call, const Version& version) {
  s3::XmlElement root{"CompleteMultipartUploadResult"};
  add_text(root, "Location",
           fmt::format("http://{}/{}/{}", call.header("Host"), call.s3.bucket, call.s3.key));
  add_text(root, "Bucket", call.s3.bucket);
  add_text(root, "Key", call.s3.key);
  add_text(root, "ETag", quoted_etag(version.etag));
  if (!version.checksum.algorithm.empty()) {
    add_text(root, "Checksum" + version.checksum.algorithm, version.checksum.value);
    add_text(root, "ChecksumType", version.checksum.kind);
  }
  net::Response response = xml_response(root);
  if (version.id != "null") response.headers.emplace_back("x-amz-version-id", version.id);
  return response;
}

}  // namespace

Answered begin_upload(Call& call) {
  const auto bucket = allowed_bucket(call, Need::write);
  if (!bucket) return std::unexpected(bucket.error());
  if (auto may = check_header_rights(call, *bucket); !may) return std::unexpected(may.error());
  auto draft = draft_of(call, *bucket);
  if (!draft) return std::unexpected(draft.error());
  auto wish = sum_wish_of(call);
  if (!wish) return std::unexpected(wish.error());
  draft->checksum = *wish;
  const auto id = call.store.begin_upload(
      {.id = {}, .bucket = call.s3.bucket, .key = call.s3.key, .draft = std::move(*draft)});
  if (!id) return std::unexpected(id.error());
  s3::XmlElement root{"InitiateMultipartUploadResult"};
  add_text(root, "Bucket", call.s3.bucket);
  add_text(root, "Key", call.s3.key);
  add_text(root, "UploadId", *id);
  net::Response response = xml_response(root);
  if (!wish->algorithm.empty()) {
    response.headers.emplace_back("x-amz-checksum-algorithm", wish->algorithm);
    response.headers.emplace_back("x-amz-checksum-type", wish->kind);
  }
  return response;
}

Answered list_parts(Call& call) {
  const auto bucket = allowed_bucket(call, Need::own);
  if (!bucket) return std::unexpected(bucket.error());
  const auto upload = call.store.upload(call.s3.bucket, call.s3.key, call.s3.parameter("uploadId"));
  if (!upload) return std::unexpected(upload.error());
  const auto all = call.store.parts(upload->id);
  if (!all) return std::unexpected(all.error());
  const auto marker = parse_integer(call.s3.parameter("part-number-marker")).value_or(0);
  const auto wanted = parse_integer(call.s3.parameter("max-parts")).value_or(kPartsPage);
  const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 0, kPartsPage));
  s3::XmlElement root{"ListPartsResult"};
  add_text(root, "Bucket", call.s3.bucket);
  add_text(root, "Key", call.s3.key);
  add_text(root, "UploadId", upload->id);
  const std::string& storage_class = upload->draft.storage_class;
  add_text(root, "StorageClass", storage_class.empty() ? "STANDARD" : storage_class);
  add_text(root, "PartNumberMarker", std::to_string(marker));
  add_text(root, "MaxParts", std::to_string(most));
  std::size_t shown = 0;
  std::uint64_t last = 0;
  bool more = false;
  for (const Part& part : *all) {
    if (static_cast<std::int64_t>(part.number) <= marker) continue;
    more = shown == most;
    if (more) break;
    s3::XmlElement& element = add_child(root, "Part");
    add_text(element, "PartNumber", std::to_string(part.number));
    add_text(element, "LastModified", xml_time(part.modified_ms));
    add_text(element, "ETag", quoted_etag(part.extent.etag));
    add_text(element, "Size", std::to_string(part.extent.size));
    if (!part.extent.checksum.empty()) {
      add_text(element, "Checksum" + upload->draft.checksum.algorithm, part.extent.checksum);
    }
    last = part.number;
    ++shown;
  }
  add_text(root, "IsTruncated", more ? "true" : "false");
  if (more) add_text(root, "NextPartNumberMarker", std::to_string(last));
  return xml_response(root);
}

Answered complete_upload(Call& call) {
  const auto bucket = allowed_bucket(call, Need::write);
  if (!bucket) return std::unexpected(bucket.error());
  const std::string_view id = call.s3.parameter("uploadId");
  const auto upload = call.store.upload(call.s3.bucket, call.s3.key, id);
  if (!upload) {
    // The client repeats the request because it did not receive the answer. An object that was put
    // in one piece has no id.
    const auto made = call.store.find(call.s3.bucket, call.s3.key, std::nullopt);
    const bool again = made && !id.empty() && made->upload == id;
    return again ? Answered(completed(call, *made)) : std::unexpected(upload.error());
  }
  const auto chosen = chosen_parts(call, upload->draft.checksum.algorithm);
  if (!chosen) return std::unexpected(chosen.error());
  const auto parts = call.store.parts(upload->id);
  if (!parts) return std::unexpected(parts.error());
  auto extents = extents_of(*chosen, *parts, call.setting.part_bytes_min);
  if (!extents) return std::unexpected(extents.error());
  Version version = upload->draft;
  version.multipart = true;
  version.upload = upload->id;
  for (const Extent& extent : *extents) version.size += extent.size;
  version.etag = joined_etag(*extents);
  version.checksum = joined_sum(upload->draft.checksum, *extents);
  version.extents = std::move(*extents);
  if (const auto kind = sum_kind_of(version.checksum.algorithm)) {
    const std::string_view claimed = call.header(header_name_of(*kind));
    if (!claimed.empty() && claimed != version.checksum.value) return refused("BadDigest");
  }
  const WriteCondition condition = write_condition_of(call.raw);
  if (auto may = may_compare(call, *bucket, call.s3.key, condition); !may) {
    return std::unexpected(may.error());
  }
  const auto put = call.store.complete_upload(*upload, version, condition);
  if (!put) return std::unexpected(hidden(call, *bucket, put.error()));
  return completed(call, *put);
}

Answered abort_upload(Call& call) {
  const auto bucket = allowed_bucket(call, Need::write);
  if (!bucket) return std::unexpected(bucket.error());
  const auto done =
      call.store.abort_upload(call.s3.bucket, call.s3.key, call.s3.parameter("uploadId"));
  if (!done) return std::unexpected(done.error());
  return net::Response{.status = 204, .content_type = ""};
}

}  // namespace orrery::s3server
