#include "live/rows/codec.h"

#include <algorithm>
#include <optional>

namespace orrery::rows {
namespace {

void put_varint(std::string& to, std::uint64_t value) {
  while (value >= 0x80) {
    to += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  to += static_cast<char>(value);
}

std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

}  // namespace

void RecordWriter::put_each(unsigned tag, std::string_view value) {
  put_varint(bytes_, tag);
  put_varint(bytes_, value.size());
  bytes_ += value;
}

void RecordWriter::put(unsigned tag, std::string_view value) {
  if (!value.empty()) put_each(tag, value);
}

void RecordWriter::put(unsigned tag, std::uint64_t value) {
  if (value == 0) return;
  std::string raw = big_endian(value);
  std::ranges::reverse(raw);
  put_each(tag, raw);
}

bool read_record(std::string_view bytes, const TakeField& take) {
  if (bytes.empty() || static_cast<std::uint8_t>(bytes.front()) != kRecordVersion) return false;
  bytes.remove_prefix(1);
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    const auto size = tag ? take_varint(bytes) : std::nullopt;
    if (!size || *size > bytes.size()) return false;
    take(static_cast<unsigned>(*tag), bytes.substr(0, *size));
    bytes.remove_prefix(*size);
  }
  return true;
}

std::uint64_t number_of(std::string_view field) {
  if (field.size() != 8) return 0;
  std::string raw(field);
  std::ranges::reverse(raw);
  return from_big_endian(raw);
}

std::string pair_field(std::string_view first, std::string_view second) {
  std::string out;
  put_varint(out, first.size());
  out += first;
  return out += second;
}

std::pair<std::string, std::string> pair_of(std::string_view field) {
  const auto size = take_varint(field);
  if (!size || *size > field.size()) return {};
  return {std::string(field.substr(0, *size)), std::string(field.substr(*size))};
}

std::string big_endian(std::uint64_t value) {
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(value >> (56 - 8 * i));
  return out;
}

std::uint64_t from_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(0, 8)) value = (value << 8) | static_cast<unsigned char>(c);
  return value;
}

}  // namespace orrery::rows
