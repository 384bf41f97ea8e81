#include "live/s3/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>

#include "core/base/text.h"

namespace orrery::s3 {
namespace {

// The polynomial x^64 + ... of the NVM Express base specification, reflected.
constexpr std::uint64_t kNvmePolynomial = 0x9a6c9329ac4bc9b5u;
constexpr std::uint32_t kCrc32Polynomial = 0xedb88320u;
constexpr std::uint32_t kCrc32cPolynomial = 0x82f63b78u;

using SlicingTables = std::array<std::array<std::uint64_t, 256>, 8>;

// Eight tables, so that eight bytes can be processed at a time.
constexpr SlicingTables nvme_tables() {
  SlicingTables t{};
  for (std::uint64_t i = 0; i < 256; ++i) {
    std::uint64_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kNvmePolynomial : 0);
    t[0][i] = crc;
  }
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t k = 1; k < 8; ++k) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  }
  return t;
}
constexpr SlicingTables kNvme = nvme_tables();

std::uint64_t crc64nvme(std::string_view bytes, std::uint64_t before) {
  std::uint64_t crc = ~before;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    for (std::size_t k = 0; k < 8; ++k) {
      crc ^= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i + k])) << (8 * k);
    }
    std::uint64_t next = 0;
    for (std::size_t k = 0; k < 8; ++k) next ^= kNvme[7 - k][(crc >> (8 * k)) & 0xff];
    crc = next;
  }
  for (; i < bytes.size(); ++i) {
    crc = (crc >> 8) ^ kNvme[0][(crc ^ static_cast<unsigned char>(bytes[i])) & 0xff];
  }
  return ~crc;
}

std::uint64_t crc_added(SumKind kind, std::uint64_t before, std::string_view bytes) {
  auto* raw = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  const auto now = static_cast<std::uint32_t>(before);
  if (kind == SumKind::crc32) return crc32_gzip_refl(now, raw, bytes.size());
  if (kind == SumKind::crc32c) return ~crc32_iscsi(raw, static_cast<int>(bytes.size()), ~now);
  return crc64nvme(bytes, before);
}

int width_of(SumKind kind) { return kind == SumKind::crc64nvme ? 64 : 32; }

std::string raw_crc(SumKind kind, std::uint64_t crc) {
  std::string out;
  for (int shift = width_of(kind) - 8; shift >= 0; shift -= 8) {
    out += static_cast<char>(crc >> shift);
  }
  return out;
}

std::uint64_t crc_of_raw(std::string_view raw) {
  std::uint64_t crc = 0;
  for (const char c : raw) crc = (crc << 8) | static_cast<unsigned char>(c);
  return crc;
}

// A linear map from bits to bits; each word is a column.
using BitMatrix = std::array<std::uint64_t, 64>;

std::uint64_t times(const BitMatrix& matrix, std::uint64_t vector) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; vector != 0; ++i, vector >>= 1) {
    if (vector & 1) sum ^= matrix[i];
  }
  return sum;
}

BitMatrix squared(const BitMatrix& matrix) {
  BitMatrix out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = times(matrix, matrix[i]);
  return out;
}

// Returns the effect of one zero bit on a reflected CRC.
BitMatrix one_zero_bit(SumKind kind) {
  BitMatrix m{};
  m[0] = kind == SumKind::crc32    ? kCrc32Polynomial
         : kind == SumKind::crc32c ? kCrc32cPolynomial
                                   : kNvmePolynomial;
  for (std::size_t i = 1; i < static_cast<std::size_t>(width_of(kind)); ++i) {
    m[i] = std::uint64_t{1} << (i - 1);
  }
  return m;
}

struct SumName {
  SumKind kind;
  std::string_view name;
};
constexpr std::array<SumName, 5> kSumNames = {{{SumKind::crc32, "CRC32"},
                                               {SumKind::crc32c, "CRC32C"},
                                               {SumKind::crc64nvme, "CRC64NVME"},
                                               {SumKind::sha1, "SHA1"},
                                               {SumKind::sha256, "SHA256"}}};

}  // namespace

std::optional<SumKind> sum_kind_of(std::string_view name) {
  for (const SumName& known : kSumNames) {
    if (lowered(name) == lowered(known.name)) return known.kind;
  }
  return std::nullopt;
}

std::string_view name_of(SumKind kind) {
  return std::ranges::find(kSumNames, kind, &SumName::kind)->name;
}

std::string header_name_of(SumKind kind) { return "x-amz-checksum-" + lowered(name_of(kind)); }

bool is_linear(SumKind kind) { return kind != SumKind::sha1 && kind != SumKind::sha256; }

Summer::Summer(SumKind kind) : kind_(kind) {
  if (kind == SumKind::sha1) hash_.emplace(HashKind::sha1);
  if (kind == SumKind::sha256) hash_.emplace(HashKind::sha256);
}

void Summer::add(std::string_view bytes) {
  if (hash_) return hash_->add(bytes);
  crc_ = crc_added(kind_, crc_, bytes);
}

std::string Summer::finish() { return hash_ ? hash_->finish() : raw_crc(kind_, crc_); }

std::string joined_crc(SumKind kind, std::string_view first, std::string_view second,
                       std::uint64_t second_bytes) {
  std::uint64_t crc = crc_of_raw(first);
  BitMatrix step = one_zero_bit(kind);
  for (std::uint64_t bits = second_bytes * 8; bits != 0; bits >>= 1) {
    if (bits & 1) crc = times(step, crc);
    step = squared(step);
  }
  return raw_crc(kind, crc ^ crc_of_raw(second));
}

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    unsigned bits = 0;
    int padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      const auto digit = kDigits.find(c);
      const bool pads = c == '=' && i + 4 == text.size() && k >= 2;
      if ((digit == kDigits.npos && !pads) || (padding > 0 && !pads)) return std::nullopt;
      padding += pads ? 1 : 0;
      bits = bits << 6 | (pads ? 0u : static_cast<unsigned>(digit));
    }
    for (int k = 0; k < 3 - padding; ++k) out += static_cast<char>(bits >> (16 - 8 * k));
  }
  return out;
}

}  // namespace orrery::s3
