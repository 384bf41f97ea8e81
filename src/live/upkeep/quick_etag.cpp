#include "live/upkeep/quick_etag.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace orrery::upkeep {
namespace {

constexpr std::size_t kCrcDigits = 16;
constexpr std::size_t kDigits = 32;
constexpr std::string_view kMark = "-1";

}  // namespace

std::string quick_etag(std::uint64_t crc, std::string_view blob) {
  // A blob's name is its run (eight digits) and its number (sixteen digits).
  std::string name(blob.substr(0, 8));
  name += blob.substr(std::max<std::size_t>(blob.size(), 8) - 8);
  return fmt::format("{:016x}{:0>16}{}", crc, name, kMark);
}

std::optional<std::uint64_t> crc_of_etag(std::string_view etag) {
  if (etag.size() != kDigits + kMark.size() || !etag.ends_with(kMark)) return std::nullopt;
  std::uint64_t crc = 0;
  const std::string_view digits = etag.substr(0, kCrcDigits);
  const auto [at, error] = std::from_chars(digits.begin(), digits.end(), crc, 16);
  if (error != std::errc() || at != digits.end()) return std::nullopt;
  return crc;
}

}  // namespace orrery::upkeep
