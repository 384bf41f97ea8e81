#include "live/agent/copy_manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "live/s3/hash.h"

namespace orrery::agent {
namespace {

using ManifestJson = nlohmann::ordered_json;
constexpr int kManifestVersion = 1;

std::string text_field(const ManifestJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

bool is_mark(const std::string& path) { return path == kMilestone || path == kHold; }

bool is_content(const KeptFile& file) { return !is_mark(file.path) && file.path != kManifest; }

std::string digest_of(const std::map<std::string, CopyFile>& files) {
  std::string lines;
  for (const auto& [path, file] : files) {
    lines += fmt::format("{}\n{}\n{}\n", path, file.bytes, file.sha256);
  }
  return s3::sha256_hex(lines);
}

std::string text_of(const CopyManifest& manifest) {
  ManifestJson files = ManifestJson::array();
  for (const auto& [path, file] : manifest.files) {
    files.push_back({{"path", path}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  const ManifestJson json = {{"orrery_copy", kManifestVersion},
                             {"item", manifest.item},
                             {"made_s", manifest.made.base()},
                             {"digest", manifest.digest},
                             {"files", std::move(files)}};
  return json.dump(1, ' ', true, ManifestJson::error_handler_t::replace) + "\n";
}

std::optional<CopyManifest> read_manifest(std::string_view text) {
  const ManifestJson json = ManifestJson::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto version = json.find("orrery_copy");
  if (version == json.end() || !version->is_number_integer() || *version != kManifestVersion) {
    return std::nullopt;
  }
  CopyManifest manifest{.item = text_field(json, "item"), .digest = text_field(json, "digest")};
  if (const auto made = json.find("made_s"); made != json.end() && made->is_number()) {
    manifest.made = seconds(made->get<double>());
  }
  const auto files = json.find("files");
  if (files == json.end() || !files->is_array()) return std::nullopt;
  for (const ManifestJson& file : *files) {
    if (!file.is_object()) return std::nullopt;
    const auto bytes = file.find("bytes");
    if (bytes == file.end() || !bytes->is_number_unsigned()) return std::nullopt;
    manifest.files[text_field(file, "path")] = {.bytes = bytes->get<std::uint64_t>(),
                                                .sha256 = text_field(file, "sha256")};
  }
  return manifest;
}

std::string manifest_path_fault(const CopyManifest& manifest) {
  for (const auto& [path, file] : manifest.files) {
    const std::string fault = kept_path_fault(path);
    if (!fault.empty()) {
      return fmt::format("{}: the path '{}' is not allowed: {}", kManifest, path, fault);
    }
  }
  return {};
}

std::string difference(const CopyManifest& manifest, const std::map<std::string, CopyFile>& read) {
  for (const auto& [path, file] : manifest.files) {
    const auto there = read.find(path);
    if (there == read.end())
      return fmt::format("{}: the copy's manifest lists this file, but it is missing", path);
    if (there->second.bytes != file.bytes) {
      return fmt::format("{}: the file has {} bytes, but the copy's manifest says {}", path,
                         there->second.bytes, file.bytes);
    }
    if (there->second.sha256 != file.sha256) {
      return fmt::format("{}: its SHA-256 differs from the one in the copy's manifest", path);
    }
  }
  for (const auto& [path, file] : read) {
    if (!manifest.files.contains(path)) {
      return fmt::format("{}: the copy's manifest does not list this file", path);
    }
  }
  if (manifest.digest != digest_of(read)) {
    return fmt::format("{}: its digest does not match the files it lists", kManifest);
  }
  return {};
}

}  // namespace orrery::agent
