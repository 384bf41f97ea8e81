#include "live/store/manifest_note.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "core/base/text.h"
#include "live/drives/erasure.h"
#include "live/drives/file_text.h"

namespace orrery::store {
namespace {

constexpr std::string_view kNoteLine = "orrery-manifest 1\n";
constexpr std::string_view kManifestName = "MANIFEST-";
constexpr std::uint32_t kCrcBegin = 0xffffffffu;

struct ManifestNote {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

std::string note_text(const ManifestNote& note) {
  const std::string text =
      std::string(kNoteLine) + fmt::format("{} {} {:08x}\n", note.name, note.bytes, note.crc);
  return text + fmt::format("check {:08x}\n", drives::block_crc(text, kCrcBegin));
}

std::optional<ManifestNote> read_note(const std::string& folder) {
  const auto text = drives::read_file(manifest_note_file(folder));
  if (!text || !text->starts_with(kNoteLine)) return std::nullopt;
  const auto lines = split(*text, '\n');
  const auto words = split_at_blanks(lines[1]);
  const auto bytes = words.size() == 3 ? parse_integer(words[1]) : std::nullopt;
  if (!bytes || *bytes < 0) return std::nullopt;
  const ManifestNote note{
      std::string(words[0]), static_cast<std::uint64_t>(*bytes),
      static_cast<std::uint32_t>(std::strtoul(std::string(words[2]).c_str(), nullptr, 16))};
  if (note_text(note) != *text) return std::nullopt;  // truncated or changed
  return note;
}

std::optional<std::string> current_name(const std::string& folder) {
  const auto current = drives::read_file(folder + "/metadata/CURRENT");
  if (!current || !current->ends_with('\n')) return std::nullopt;
  const std::string_view name = trimmed(*current);
  if (!name.starts_with(kManifestName)) return std::nullopt;
  return std::string(name);
}

std::optional<std::int64_t> number_of(std::string_view name) {
  if (!name.starts_with(kManifestName)) return std::nullopt;
  return parse_integer(name.substr(kManifestName.size()));
}

// Returns the size of a file and its checksum, over at most `most` bytes; nullopt if it cannot be
// read. With `synced` the bytes are on the disk when this returns.
std::optional<ManifestNote> measured(const std::string& path, const std::string& name,
                                     std::uint64_t most, bool synced) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  ManifestNote found{.name = name, .crc = kCrcBegin};
  std::string piece(std::size_t{256} << 10, '\0');
  ssize_t got = 0;
  while (found.bytes < most) {
    const auto wanted = std::min<std::uint64_t>(piece.size(), most - found.bytes);
    got = ::read(file, piece.data(), wanted);
    if (got <= 0) break;
    found.crc = drives::block_crc(std::string_view(piece).substr(0, static_cast<std::size_t>(got)),
                                  found.crc);
    found.bytes += static_cast<std::uint64_t>(got);
  }
  const bool good = got >= 0 && (!synced || ::fdatasync(file) == 0);
  ::close(file);
  if (!good) return std::nullopt;
  return found;
}

}  // namespace

std::string manifest_note_file(const std::string& folder) { return folder + "/manifest"; }

bool note_manifest(const std::string& folder) {
  const auto name = current_name(folder);
  if (!name) return false;
  const auto now = measured(folder + "/metadata/" + *name, *name, UINT64_MAX, true);
  return now && drives::write_durably(manifest_note_file(folder), note_text(*now));
}

std::optional<ManifestDoubt> manifest_doubt(const std::string& folder) {
  const auto name = current_name(folder);
  if (!name) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::exists(folder + "/metadata/" + *name, error) && !error) {
    return ManifestDoubt{fmt::format(
        "{0}/metadata/CURRENT names {0}/metadata/{1}, which is missing", folder, *name)};
  }
  const auto note = read_note(folder);
  const auto noted = note ? number_of(note->name) : std::nullopt;
  const auto now = number_of(*name);
  if (!noted || !now || *now > *noted) return std::nullopt;
  const std::string metadata = folder + "/metadata/";
  if (*now < *noted) {
    return ManifestDoubt{fmt::format("{}CURRENT names {}, but the newer {} had already been in use",
                                     metadata, *name, note->name),
                         true};
  }
  const std::string path = metadata + *name;
  const auto found = measured(path, *name, note->bytes, false);
  if (!found) return std::nullopt;  // RocksDB reports why it cannot be read
  if (found->bytes < note->bytes) {
    return ManifestDoubt{fmt::format("{} has {} bytes, but had at least {} before", path,
                                     found->bytes, note->bytes)};
  }
  if (found->crc != note->crc) return ManifestDoubt{path + ": its contents have changed"};
  return std::nullopt;
}

}  // namespace orrery::store
