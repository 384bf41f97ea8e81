// A store of format 1, written byte by byte as the first released version of the program left it on
// disk.
//
// Nothing here calls the code that writes stores today. Records, checksums, parity and the paths of
// files follow the description of the format. So a change of today's writer that breaks old stores
// fails a test instead of changing the fixture with it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::upkeep::format1 {

// Tag, length, bytes. Numbers have eight bytes, least significant first. All lengths here are below
// 16,384.
class Record {
 public:
  Record& text(unsigned tag, std::string_view value) {
    bytes_ += static_cast<char>(tag);
    if (value.size() >= 128) bytes_ += static_cast<char>(0x80 | (value.size() & 0x7f));
    bytes_ += static_cast<char>(value.size() >= 128 ? value.size() >> 7 : value.size());
    bytes_ += value;
    return *this;
  }
  Record& number(unsigned tag, std::uint64_t value) {
    std::string raw;
    for (int i = 0; i < 8; ++i) raw += static_cast<char>(value >> (8 * i));
    return text(tag, raw);
  }
  Record& pair(unsigned tag, std::string_view first, std::string_view second) {
    return text(tag, static_cast<char>(first.size()) + std::string(first) + std::string(second));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = "\x01";
};

inline std::string big_endian(std::uint64_t value) {
  std::string raw;
  for (int i = 7; i >= 0; --i) raw += static_cast<char>(value >> (8 * i));
  return raw;
}

// CRC-32C, bit by bit, as in shard files: starts from all ones and is not inverted at the end.
inline std::string crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0);
  }
  std::string raw;
  for (int i = 0; i < 4; ++i) raw += static_cast<char>(crc >> (8 * i));
  return raw;
}

// Multiplication in GF(2^8) over x^8 + x^4 + x^3 + x^2 + 1.
inline unsigned gf_times(unsigned a, unsigned b) {
  unsigned product = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1u) != 0) product ^= a;
    a = (a << 1) ^ ((a & 0x80u) != 0 ? 0x11du : 0);
  }
  return product;
}
inline unsigned gf_inverse(unsigned a) {
  unsigned inverse = 1;
  while (gf_times(a, inverse) != 1) ++inverse;
  return inverse;
}
// The parity of two blocks. Cauchy's row for 2+1 is 1/(2^0), 1/(2^1), with ^ for "exclusive or".
inline std::string parity(std::string_view first, std::string_view second) {
  std::string out;
  for (std::size_t i = 0; i < first.size(); ++i) {
    out += static_cast<char>(gf_times(gf_inverse(2), static_cast<unsigned char>(first[i])) ^
                             gf_times(gf_inverse(3), static_cast<unsigned char>(second[i])));
  }
  return out;
}

struct Fixture {
  std::string folder;
  std::vector<std::pair<std::string, std::string>> rows = {};  // rows of the metadata

  void write(const std::string& path, std::string_view bytes) const {
    const std::filesystem::path at = std::filesystem::path(folder) / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::binary) << bytes;
  }
  void row(const std::string& key, const Record& record) { rows.emplace_back(key, record.bytes()); }

  void drive(const std::string& place, const std::string& id) const {
    char name[8];
    for (int i = 0; i < 256; ++i) {
      std::snprintf(name, sizeof name, "%02x", i);
      std::filesystem::create_directories(folder + '/' + place + "/data/" + name);
    }
    write(place + "/drive", "orrery-drive 1\nstore 0123456789abcdef\ndrive " + id + "\n");
  }

  // One block is enough: the header, the block and its checksum.
  void shard(const std::string& place, const std::string& blob, int number, const std::string& plan,
             std::string_view block) const {
    const std::string shard_digits = "0" + std::to_string(number);
    std::string header = "orrery-shard 1 " + blob + ' ' + shard_digits + ' ' + plan + " 4096";
    header.resize(60, ' ');
    const std::string name = blob + '.' + shard_digits + ".0";
    std::uint32_t hash = 2166136261u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    char data[8];
    std::snprintf(data, sizeof data, "%02x", (hash >> 8) % 256);
    write(place + "/data/" + data + '/' + name,
          header + crc32c(header) + std::string(block) +
              crc32c(blob + big_endian(static_cast<std::uint64_t>(number)) + big_endian(0) +
                     std::string(block)));
  }
};

inline Record extent(const std::string& blob, std::uint64_t size, const std::string& etag) {
  return Record().text(1, blob).number(2, size).text(3, etag);
}

inline void add_names(Fixture& to) {
  const std::string z(1, '\0');
  to.row("bpail",
         Record().text(1, "pail").text(2, "main").number(3, 1000).number(4, 1).text(5, "private"));
  const auto version = [&](std::uint64_t stamp, const std::string& id) {
    Record record;
    record.number(1, stamp).text(2, id);
    return record;
  };
  to.row("opail" + z + "a", version(20, "v2")
                                .number(4, 12)
                                .text(5, "be4e9d4ba32a6a8e62f3ad3a24b5bd2c")
                                .number(6, 2000)
                                .text(7, "main")
                                .pair(10, "Content-Type", "text/plain")
                                .pair(12, "who", "me")
                                .text(20, extent("000000010000000000000002", 12, "e2").bytes()));
  to.row("vpail" + z + "a" + z + big_endian(~std::uint64_t{10}),
         version(10, "v1").number(4, 12).text(5, "e1").number(6, 1000).text(7, "main").text(
             20, extent("000000010000000000000001", 12, "e1").bytes()));
  to.row("opail" + z + "b", version(40, "v4").number(3, 1).number(6, 4000).text(7, "main"));
  to.row("vpail" + z + "b" + z + big_endian(~std::uint64_t{30}),
         version(30, "v3")
             .number(4, 10)
             .text(5, "e3")
             .number(6, 3000)
             .text(7, "main")
             .text(8, "GLACIER")
             .text(20, extent("000000010000000000000004", 10, "e3").bytes()));
  to.row("upail" + z + "c" + z + "upload", Record()
                                               .text(1, "upload")
                                               .text(2, "pail")
                                               .text(3, "c")
                                               .number(4, 5000)
                                               .text(5, Record().text(7, "main").bytes()));
  to.row("pupload" + z + big_endian(1),
         Record().number(1, 1).number(2, 5000).text(
             3, extent("000000010000000000000003", 12, "e4").bytes()));
  to.row("tAK", Record().text(1, "AK").text(2, "secret").text(3, "main").text(4, "main"));
  to.rows.emplace_back("nepoch", big_endian(1));
  to.rows.emplace_back('e' + big_endian(1), big_endian(1));
}

// The hot tier is 2+1, the cold tier one copy. A bucket with versions holds two versions of "a",
// and for "b" a delete marker above a version in the cold tier; there is also an upload with one
// part.
inline Fixture store_in(const std::string& folder) {
  Fixture to{folder};
  to.write("store",
           "orrery-store 1\nid 0123456789abcdef\ntier hot 2+1\ndrive hot-0 hot-0\n"
           "drive hot-1 hot-1\ndrive hot-2 hot-2\ntier cold 1+0\ndrive cold-0 cold\n");
  for (const std::string id : {"hot-0", "hot-1", "hot-2"}) to.drive(id, id);
  to.drive("cold", "cold-0");
  const auto hot_blob = [&](const std::string& blob, const std::string& bytes) {
    const auto half = bytes.size() / 2;
    const std::string first = bytes.substr(0, half);
    const std::string second = bytes.substr(half);
    to.shard("hot-0", blob, 0, "2+1", first);
    to.shard("hot-1", blob, 1, "2+1", second);
    to.shard("hot-2", blob, 2, "2+1", parity(first, second));
    Record record;
    record.text(1, blob).number(2, bytes.size()).text(3, "hot").number(4, 2).number(5, 1);
    record.number(6, 4096);
    for (const std::string id : {"hot-0", "hot-1", "hot-2"}) record.pair(7, id, big_endian(0));
    to.row('s' + blob, record);
  };
  hot_blob("000000010000000000000001", "first bytes!");
  hot_blob("000000010000000000000002", "second bytes");
  hot_blob("000000010000000000000003", "part of one.");
  to.shard("cold", "000000010000000000000004", 0, "1+0", "cold bytes");
  to.row("s000000010000000000000004", Record()
                                          .text(1, "000000010000000000000004")
                                          .number(2, 10)
                                          .text(3, "cold")
                                          .number(4, 1)
                                          .number(6, 4096)
                                          .pair(7, "cold-0", big_endian(0)));
  add_names(to);
  return to;
}

}  // namespace orrery::upkeep::format1
