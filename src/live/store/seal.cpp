#include "live/store/seal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/base/text.h"
#include "live/drives/erasure.h"
#include "live/drives/file_text.h"

namespace orrery::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "orrery-sealed 1\n";
constexpr std::string_view kManifest = "MANIFEST-";
// At most this much of new tables is read for checksums when a store stops, so that it stops
// quickly.
constexpr std::uint64_t kTableBytesMost = std::uint64_t{1} << 30;

bool is_log(std::string_view name) { return name.ends_with(".log"); }
bool is_table(std::string_view name) { return name.ends_with(".sst"); }

// Reads in pieces, because a log may have some megabytes. Returns nullopt if the file cannot be
// read.
std::optional<std::uint32_t> crc_of_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string piece(std::size_t{256} << 10, '\0');
  std::uint32_t crc = 0xffffffffu;
  ssize_t got = 0;
  while ((got = ::read(file, piece.data(), piece.size())) > 0) {
    crc = drives::block_crc(std::string_view(piece).substr(0, static_cast<std::size_t>(got)), crc);
  }
  ::close(file);
  if (got < 0) return std::nullopt;
  return crc;
}

// Returns whether the files are from another time than the list. RocksDB starts a new MANIFEST each
// time it is opened for writing, so CURRENT then names an existing file that is not in the list.
bool is_of_another_time(const Seal& seal, const std::string& metadata) {
  const std::string current = drives::read_file(metadata + "/CURRENT").value_or("");
  const std::string manifest(trimmed(current));
  if (!manifest.starts_with(kManifest) || !current.ends_with('\n')) return false;
  if (std::ranges::find(seal.files, manifest, &SealedFile::name) != seal.files.end()) return false;
  return fs::exists(metadata + '/' + manifest);
}

}  // namespace

std::string seal_text(const Seal& seal) {
  std::string text = std::string(kFirstLine) + witness_text(seal.witness);
  for (const SealedFile& file : seal.files) {
    text += fmt::format("{} {} {}\n", file.name, file.bytes,
                        file.crc ? fmt::format("{:08x}", *file.crc) : "-");
  }
  return text + fmt::format("check {:08x}\n", drives::block_crc(text, 0xffffffffu));
}

std::optional<Seal> seal_of(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  const auto witness = witness_of(text.substr(kFirstLine.size()));
  if (!witness) return std::nullopt;
  Seal seal{.witness = *witness};
  const std::size_t begin = kFirstLine.size() + witness_text(*witness).size();
  for (const std::string_view line : split(text.substr(begin), '\n')) {
    const auto words = split_at_blanks(line);
    if (words.size() != 3) continue;
    const auto bytes = parse_integer(words[1]);
    if (!bytes || *bytes < 0) return std::nullopt;
    SealedFile file{std::string(words[0]), static_cast<std::uint64_t>(*bytes)};
    if (words[2] != "-") {
      file.crc =
          static_cast<std::uint32_t>(std::strtoul(std::string(words[2]).c_str(), nullptr, 16));
    }
    seal.files.push_back(std::move(file));
  }
  // Writing it again gives the same text, so the text is complete.
  if (seal_text(seal) != text) return std::nullopt;
  return seal;
}

std::vector<SealedFile> files_to_seal(const std::string& metadata,
                                      const std::vector<SealedFile>& before) {
  const std::string current = drives::read_file(metadata + "/CURRENT").value_or("");
  const std::string manifest(trimmed(current));
  std::vector<SealedFile> files;
  std::uint64_t tables_left = kTableBytesMost;
  std::error_code error;
  for (fs::directory_iterator at(metadata, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_read = name == "CURRENT" || name == manifest || is_log(name);
    if (!is_read && !is_table(name)) continue;
    SealedFile file{name, at->file_size(error)};
    if (is_read) {
      file.crc = crc_of_file(at->path().string());
    } else {
      const auto known = std::ranges::find(before, name, &SealedFile::name);
      if (known != before.end() && known->bytes == file.bytes && known->crc) {
        file.crc = known->crc;
      } else if (file.bytes <= tables_left) {
        tables_left -= file.bytes;
        file.crc = crc_of_file(at->path().string());
      }
    }
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &SealedFile::name);
  return files;
}

std::optional<std::string> damage_since(const Seal& seal, const std::string& metadata,
                                        bool tables) {
  if (is_of_another_time(seal, metadata)) return std::nullopt;
  for (const SealedFile& file : seal.files) {
    const std::string path = metadata + '/' + file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error) return path + " is missing, but existed when the store was stopped";
    if (bytes != file.bytes) {
      return fmt::format("{} has {} bytes, but had {} when the store was stopped", path, bytes,
                         file.bytes);
    }
    if (!file.crc || (is_table(file.name) && !tables)) continue;
    const auto crc = crc_of_file(path);
    if (!crc) return path + " cannot be read";
    if (*crc != *file.crc) return path + " has changed since the store was stopped";
  }
  return std::nullopt;
}

}  // namespace orrery::store
