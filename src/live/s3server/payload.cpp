#include "live/s3server/payload.h"

#include <algorithm>
#include <charconv>

#include "core/base/digest.h"
#include "core/base/text.h"
#include "live/upkeep/quick_etag.h"

namespace orrery::s3server {
namespace {

constexpr std::size_t kLineBytesMax = 4096;
constexpr std::size_t kTrailerBytesMax = 16384;
// Below these sizes a second thread costs more than it gains.
constexpr std::uint64_t kLaneBodyBytes = std::uint64_t{4} << 20;
constexpr std::size_t kLanePieceBytes = std::size_t{32} << 10;

bool is_hex_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// Reads the one checksum that the headers name: with its value, or as the one that the trailer will
// hold.
Answer<void> read_sum(const net::Request& raw, PayloadPlan& plan) {
  const auto name_sum = [&](std::string_view name) -> Answer<void> {
    const auto kind = sum_kind_of(name);
    if (!kind) return refused("InvalidRequest", "This checksum algorithm is not supported.");
    if (plan.sum && plan.sum != kind) {
      return refused("InvalidRequest", "The request must have exactly one x-amz-checksum- header.");
    }
    plan.sum = kind;
    return {};
  };
  constexpr std::string_view kPrefix = "x-amz-checksum-";
  for (const auto& [sent, value] : raw.headers) {
    const std::string name = lowered(sent);
    if (!name.starts_with(kPrefix)) continue;
    const std::string which = name.substr(kPrefix.size());
    if (which == "type" || which == "algorithm" || which == "mode") continue;
    if (auto good = name_sum(which); !good) return good;
    plan.sum_value = value;
    if (!from_base64(value) || value.empty()) {
      return refused("InvalidRequest", "The value of the " + name + " header is invalid.");
    }
  }
  const std::string trailer = lowered(trimmed(raw.header("x-amz-trailer")));
  if (trailer.starts_with(kPrefix)) {
    plan.sum_in_trailer = true;
    if (auto good = name_sum(trailer.substr(kPrefix.size())); !good) return good;
  }
  const std::string_view wished = raw.header("x-amz-sdk-checksum-algorithm");
  if (!wished.empty() && !plan.sum) return name_sum(wished);
  return {};
}

}  // namespace

std::string etag_of(const PayloadEnd& end, std::string_view blob) {
  return end.md5.empty() ? upkeep::quick_etag(end.crc, blob) : end.md5;
}

Answer<PayloadPlan> payload_plan_of(const net::Request& raw, const Caller& caller,
                                    std::uint64_t quick_bytes) {
  PayloadPlan plan{.payload = caller.payload, .seed = caller.seed};
  const bool streaming = plan.payload.starts_with("STREAMING-");
  const std::string_view length =
      raw.header(streaming ? "x-amz-decoded-content-length" : "Content-Length");
  if (!length.empty()) {
    const auto bytes = parse_integer(length);
    if (!bytes || *bytes < 0) return refused("InvalidArgument", "A content length is malformed.");
    plan.length = static_cast<std::uint64_t>(*bytes);
  } else if (streaming) {
    return refused("MissingContentLength");
  }
  const auto has_md5 = std::ranges::any_of(
      raw.headers, [](const auto& header) { return lowered(header.first) == "content-md5"; });
  if (has_md5) {
    plan.md5 = from_base64(raw.header("Content-MD5"));
    if (!plan.md5 || plan.md5->size() != 16) return refused("InvalidDigest");
  }
  if (auto good = read_sum(raw, plan); !good) return std::unexpected(good.error());
  plan.quick = !has_md5 && plan.length.value_or(0) >= quick_bytes;
  return plan;
}

PayloadReader::PayloadReader(PayloadPlan plan)
    : plan_(std::move(plan)), before_(plan_.seed.signature) {
  chunked_ = plan_.payload.starts_with("STREAMING-");
  signed_ = plan_.payload.starts_with("STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
  trailers_ = plan_.payload.ends_with("-TRAILER");
  if (is_hex_digest(plan_.payload)) sha_.emplace(s3::HashKind::sha256);
  if (plan_.sum) sum_.emplace(*plan_.sum);
  if (!plan_.quick) md5_.emplace(s3::HashKind::md5);
  if (plan_.length.value_or(0) < kLaneBodyBytes) return;
  if (md5_) md5_lane_ = std::make_unique<HashLane>();
  if (sha_ || sum_) lane_ = std::make_unique<HashLane>();
}

// Adds the bytes to all digests except MD5.
void PayloadReader::digest(std::string_view bytes) {
  if (sha_) sha_->add(bytes);
  if (sum_) sum_->add(bytes);
}

Answer<void> PayloadReader::hand_on(std::string_view bytes, const Hand& hand) {
  size_ += bytes.size();
  if (plan_.length && size_ > *plan_.length) {
    return refused("InvalidRequest", "The body is longer than announced.");
  }
  const bool large = bytes.size() >= kLanePieceBytes;
  const bool md5_beside = large && md5_lane_;
  const bool beside = large && lane_;
  if (md5_beside) md5_lane_->begin([this, bytes] { md5_->add(bytes); });
  if (beside) lane_->begin([this, bytes] { digest(bytes); });
  if (md5_ && !md5_beside) md5_->add(bytes);
  if (!beside) digest(bytes);
  if (!md5_) crc_ = drives::content_crc(bytes, crc_);
  auto handed = hand(bytes);
  if (md5_beside) md5_lane_->wait();
  if (beside) lane_->wait();
  return handed;
}

Answer<void> PayloadReader::take(std::string_view piece, const Hand& hand) {
  return chunked_ ? unwrap(piece, hand) : hand_on(piece, hand);
}

Answer<void> PayloadReader::unwrap(std::string_view piece, const Hand& hand) {
  while (!piece.empty()) {
    if (stage_ == Stage::data) {
      const auto some =
          static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, piece.size()));
      const std::string_view bytes = piece.substr(0, some);
      if (chunk_sha_) chunk_sha_->add(bytes);
      if (auto good = hand_on(bytes, hand); !good) return good;
      piece.remove_prefix(some);
      chunk_left_ -= some;
      if (chunk_left_ > 0) return {};
      if (auto good = end_chunk(); !good) return good;
      stage_ = Stage::data_end;
      continue;
    }
    const auto end = piece.find('\n');
    line_ += piece.substr(0, end);
    if (line_.size() > kLineBytesMax)
      return refused("InvalidRequest", "The header of a chunk is too long.");
    if (end == piece.npos) return {};
    piece.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    const std::string line = std::move(line_);
    line_.clear();
    if (auto good = take_line(line); !good) return good;
  }
  return {};
}

Answer<void> PayloadReader::take_line(std::string_view line) {
  switch (stage_) {
    case Stage::head:
      return begin_chunk(line);
    case Stage::data_end:
      if (!line.empty()) {
        return refused("InvalidRequest", "A chunk is longer than its header says.");
      }
      stage_ = Stage::head;
      return {};
    case Stage::trailer: {
      if (line.empty()) return end_trailer();
      constexpr std::string_view kSignature = "x-amz-trailer-signature:";
      if (line.starts_with(kSignature)) {
        trailer_signature_ = trimmed(line.substr(kSignature.size()));
        return {};
      }
      trailer_ += std::string(line) + '\n';
      if (trailer_.size() > kTrailerBytesMax) return refused("MalformedTrailerError");
      return {};
    }
    default:
      return refused("InvalidRequest", "There are bytes after the end of the body.");
  }
}

Answer<void> PayloadReader::begin_chunk(std::string_view line) {
  constexpr std::string_view kSignature = ";chunk-signature=";
  const auto semicolon = std::min(line.find(';'), line.size());
  std::uint64_t size = 0;
  const std::string_view digits = line.substr(0, semicolon);
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), size, 16);
  if (error != std::errc() || end != digits.end() || digits.empty()) {
    return refused("InvalidRequest", "The size of a chunk is malformed.");
  }
  const std::string_view rest = line.substr(semicolon);
  claimed_ = rest.starts_with(kSignature) ? rest.substr(kSignature.size()) : std::string_view();
  chunk_left_ = size;
  last_chunk_ = size == 0;
  if (signed_) chunk_sha_.emplace(s3::HashKind::sha256);
  if (!last_chunk_) {
    stage_ = Stage::data;
    return {};
  }
  if (auto good = end_chunk(); !good) return good;
  stage_ = Stage::trailer;
  return {};
}

std::string PayloadReader::chunk_signature(std::string_view kind,
                                           const std::string& digests) const {
  const std::string text = "AWS4-HMAC-SHA256-" + std::string(kind) + '\n' + plan_.seed.time + '\n' +
                           plan_.seed.scope + '\n' + before_ + '\n' + digests;
  return to_hex(s3::hmac_sha256(plan_.seed.key, text));
}

Answer<void> PayloadReader::end_chunk() {
  if (!signed_) return {};
  const std::string digest = to_hex(chunk_sha_->finish());
  const std::string right = chunk_signature("PAYLOAD", std::string(kEmptySha256) + '\n' + digest);
  if (right != claimed_) return refused("SignatureDoesNotMatch");
  before_ = right;
  return {};
}

Answer<void> PayloadReader::end_trailer() {
  stage_ = Stage::done;
  if (signed_ && trailers_) {
    const std::string right = chunk_signature("TRAILER", s3::sha256_hex(trailer_));
    if (right != trailer_signature_) return refused("SignatureDoesNotMatch");
  }
  if (!plan_.sum) return {};
  const std::string wanted = header_name_of(*plan_.sum);
  for (const std::string_view line : split(trailer_, '\n')) {
    const auto colon = std::min(line.find(':'), line.size());
    if (lowered(trimmed(line.substr(0, colon))) != wanted) continue;
    plan_.sum_value = trimmed(line.substr(std::min(colon + 1, line.size())));
  }
  return {};
}

Answer<Checksum> PayloadReader::checked_sum() {
  if (!sum_) return Checksum{};
  const std::string value = to_base64(sum_->finish());
  if (plan_.sum_in_trailer && plan_.sum_value.empty()) return refused("MalformedTrailerError");
  if (!plan_.sum_value.empty() && plan_.sum_value != value) {
    return refused("BadDigest", "The " + std::string(name_of(*plan_.sum)) +
                                    " in the request does not match the "
                                    "body.");
  }
  return Checksum{std::string(name_of(*plan_.sum)), value, "FULL_OBJECT"};
}

Answer<PayloadEnd> PayloadReader::finish() {
  if (chunked_ && last_chunk_ && stage_ == Stage::trailer) {
    // Some clients omit the empty line after an empty trailer.
    if (auto good = end_trailer(); !good) return std::unexpected(good.error());
  }
  if (chunked_ && stage_ != Stage::done) return refused("IncompleteBody");
  if (plan_.length && size_ != *plan_.length) return refused("IncompleteBody");
  const std::string md5 = md5_ ? md5_->finish() : "";
  if (plan_.md5 && *plan_.md5 != md5) return refused("BadDigest");
  if (sha_ && to_hex(sha_->finish()) != lowered(plan_.payload)) {
    return refused("XAmzContentSHA256Mismatch");
  }
  auto sum = checked_sum();
  if (!sum) return std::unexpected(sum.error());
  return PayloadEnd{to_hex(md5), crc_, std::move(*sum), size_};
}

}  // namespace orrery::s3server
