#include "output/emit/stamp.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "core/base/json_writer.h"
#include "model/design_text/yaml_tree.h"
#include "output/emit/escape.h"

namespace orrery::emit {
namespace {

constexpr int kManifestVersion = 1;
constexpr std::size_t kDigestChars = 64;

std::optional<std::string> text_at(const design_text::YamlNode& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const design_text::YamlNode& item = map.items[i];
    if (map.keys[i].text == key && item.kind == design_text::YamlNode::Kind::scalar)
      return item.text;
  }
  return std::nullopt;
}

const design_text::YamlNode* list_at(const design_text::YamlNode& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const design_text::YamlNode& item = map.items[i];
    if (map.keys[i].text == key && item.kind == design_text::YamlNode::Kind::list) return &item;
  }
  return nullptr;
}

std::unexpected<Diagnostics> not_a_manifest(const std::string& file, int line,
                                            std::string_view what) {
  return fail(
      {.code = "emit.manifest",
       .place = {file, line, 1},
       .what = fmt::format("this is not a list of emitted files: {}", what),
       .why = "without it, a hand edit cannot be distinguished from a file that is out of date",
       .fix = "restore it, or move it and the emitted files away and emit again"});
}

}  // namespace

std::string stamp_text(const EmitSource& source) {
  std::string out = "design " + comment_text(source.design);
  if (!source.version.empty()) out += " version " + comment_text(source.version);
  return out + " digest " + source.digest;
}

std::string stamp(const EmitSource& source, std::string_view prefix) {
  return fmt::format(
      "{0} orrery-emit: {1}\n"
      "{0} The next `orrery emit` finds hand edits and keeps them unless --force is given.\n",
      prefix, stamp_text(source));
}

const ManifestEntry* find_entry(const Manifest& manifest, std::string_view path) {
  const auto at = std::ranges::find(manifest, path, &ManifestEntry::path);
  return at == manifest.end() ? nullptr : &*at;
}

std::string write_manifest(const Manifest& manifest) {
  Manifest sorted = manifest;
  std::ranges::sort(sorted, {}, &ManifestEntry::path);
  JsonWriter json;
  json.begin_object().field("orrery_emit", kManifestVersion).key("files").begin_array();
  for (const ManifestEntry& e : sorted) {
    json.begin_object().field("path", e.path).field("target", e.target);
    json.field("sha256", e.digest).field("design", e.design).end_object();
  }
  json.end_array().end_object();
  return json.text() + '\n';
}

Result<Manifest> read_manifest(std::string_view text, const std::string& file) {
  Diagnostics faults;
  const auto tree = design_text::parse_yaml(text, file, faults);
  if (!tree || !faults.empty() || tree->kind != design_text::YamlNode::Kind::map) {
    return not_a_manifest(file, 1, "it cannot be read");
  }
  if (text_at(*tree, "orrery_emit") != std::to_string(kManifestVersion)) {
    return not_a_manifest(file, 1, "`orrery_emit` is not 1");
  }
  const design_text::YamlNode* files = list_at(*tree, "files");
  if (files == nullptr) return not_a_manifest(file, 1, "`files` is missing");
  Manifest manifest;
  for (const design_text::YamlNode& node : files->items) {
    const auto path = text_at(node, "path");
    const auto target = text_at(node, "target");
    const auto digest = text_at(node, "sha256");
    const auto design = text_at(node, "design");
    if (!path || !target || !digest || !design || digest->size() != kDigestChars) {
      return not_a_manifest(file, node.mark.line, "an entry lacks path, target, sha256 or design");
    }
    manifest.push_back({*target, *path, *digest, *design});
  }
  std::ranges::sort(manifest, {}, &ManifestEntry::path);
  return manifest;
}

}  // namespace orrery::emit
