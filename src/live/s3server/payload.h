// The body of an upload as it arrives: unwrapped, hashed, and compared with what was announced.
//
// x-amz-content-sha256 says what the body is: its SHA-256; UNSIGNED-PAYLOAD; or one of the
// STREAMING- modes, in which the bytes come in chunks ("SIZE;chunk-signature=...\r\nBYTES\r\n").
// Each chunk's signature covers the one before it, and a trailer of checksums may follow (S3 API
// reference, "Signature calculations: chunked upload"). Bytes are passed on before the whole body
// has been verified; finish() returns whether it was right, and nothing may be committed before
// that.
#pragma once

#include <functional>
#include <optional>

#include "live/s3/checksum.h"
#include "live/s3server/auth.h"
#include "live/s3server/hash_lane.h"

namespace orrery::s3server {

using s3::from_base64;
using s3::header_name_of;
using s3::is_linear;
using s3::joined_crc;
using s3::name_of;
using s3::sum_kind_of;
using s3::SumKind;
using s3::Summer;

inline constexpr std::string_view kEmptySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct PayloadPlan {
  std::string payload;  // x-amz-content-sha256
  ChunkSeed seed = {};
  std::optional<std::uint64_t> length = {};  // announced size of the object
  std::optional<std::string> md5 = {};       // raw
  std::optional<SumKind> sum = {};
  std::string sum_value = {};  // base64; empty: in the trailer, or to be computed
  bool sum_in_trailer = false;
  bool quick = false;  // large and without an MD5 from the client: its ETag contains a CRC
};

inline constexpr std::uint64_t kNeverQuick = ~std::uint64_t{0};
// Returns what the headers of a request say about its body. From `quick_bytes` on, a body is quick.
Answer<PayloadPlan> payload_plan_of(const net::Request& raw, const Caller& caller,
                                    std::uint64_t quick_bytes);

struct PayloadEnd {
  std::string md5;        // hexadecimal; empty: not computed
  std::uint64_t crc = 0;  // only for a quick body
  Checksum checksum = {};
  std::uint64_t size = 0;
};
// Returns the ETag of these bytes in this blob.
std::string etag_of(const PayloadEnd& end, std::string_view blob);

class PayloadReader {
 public:
  using Hand = std::function<Answer<void>(std::string_view)>;
  explicit PayloadReader(PayloadPlan plan);

  Answer<void> take(std::string_view piece, const Hand& hand);
  Answer<PayloadEnd> finish();

 private:
  enum class Stage { head, data, data_end, trailer, done };
  Answer<void> unwrap(std::string_view piece, const Hand& hand);
  Answer<void> take_line(std::string_view line);
  Answer<void> begin_chunk(std::string_view line);
  Answer<void> end_chunk();
  Answer<void> end_trailer();
  Answer<void> hand_on(std::string_view bytes, const Hand& hand);
  void digest(std::string_view bytes);
  std::string chunk_signature(std::string_view kind, const std::string& digests) const;
  Answer<Checksum> checked_sum();

  PayloadPlan plan_;
  bool chunked_ = false;
  bool signed_ = false;
  bool trailers_ = false;
  std::optional<s3::Hash> md5_;
  std::uint64_t crc_ = 0;
  std::optional<s3::Hash> sha_;
  std::optional<Summer> sum_;
  std::uint64_t size_ = 0;
  Stage stage_ = Stage::head;
  std::string line_;
  std::uint64_t chunk_left_ = 0;
  bool last_chunk_ = false;
  std::string claimed_;  // signature of the current chunk
  std::string before_;   // signature of the previous chunk
  std::optional<s3::Hash> chunk_sha_;
  std::string trailer_;
  std::string trailer_signature_;
  // For large bodies: computes digests on a second thread. Declared last, because it uses the
  // members above.
  std::unique_ptr<HashLane> md5_lane_;
  std::unique_ptr<HashLane> lane_;
};

}  // namespace orrery::s3server
