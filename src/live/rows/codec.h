// Records as bytes: numbered fields, so that a later version may add some and an older reader skips
// fields that it does not know.
//
//   record   version (1 byte), fields
//   field    tag (varint), length (varint), bytes
//
// A number is 8 bytes, little-endian; a list is its field repeated; a record within a record is a
// field of bytes. A field with an empty value (0, "", false) is not written. A tag is never reused
// with another meaning; kRecordVersion increases only if an old reader must stop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace orrery::rows {

inline constexpr std::uint8_t kRecordVersion = 1;

class RecordWriter {
 public:
  RecordWriter() { bytes_ += static_cast<char>(kRecordVersion); }
  void put(unsigned tag, std::string_view value);
  void put(unsigned tag, std::uint64_t value);
  void put_each(unsigned tag, std::string_view value);  // written even if it is empty
  std::string finish() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Calls `take` for every field, in order. Returns false if the bytes are not a record of a known
// version.
using TakeField = std::function<void(unsigned tag, std::string_view value)>;
bool read_record(std::string_view bytes, const TakeField& take);
// Returns 0 if the field is not a number.
std::uint64_t number_of(std::string_view field);

// Encodes two texts in one field.
std::string pair_field(std::string_view first, std::string_view second);
std::pair<std::string, std::string> pair_of(std::string_view field);

// Most significant byte first, so that the bytes sort like the numbers.
std::string big_endian(std::uint64_t value);
std::uint64_t from_big_endian(std::string_view bytes);

}  // namespace orrery::rows
