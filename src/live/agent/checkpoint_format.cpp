#include "live/agent/checkpoint_format.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery::agent {
namespace {

using FormatJson = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kIndexEnding = ".safetensors.index.json";

bool has_file(const KeptItem& item, std::string_view path) { return item.file(path) != nullptr; }

bool has_index(const KeptItem& item) {
  return std::ranges::any_of(
      item.files, [](const KeptFile& file) { return file.path.ends_with(kIndexEnding); });
}

bool has_shards(const KeptItem& item) {
  return std::ranges::any_of(item.files, [](const KeptFile& file) {
    return file.path.ends_with(".safetensors") && file.path.find("-of-") != std::string::npos;
  });
}

}  // namespace

std::int64_t step_of(std::string_view id) {
  std::size_t begin = id.size();
  while (begin > 0 && id[begin - 1] >= '0' && id[begin - 1] <= '9') --begin;
  std::int64_t step = 0;
  for (const char digit : id.substr(begin)) {
    if (step > (std::int64_t{1} << 58)) return 0;
    step = step * 10 + (digit - '0');
  }
  return step;
}

bool is_finished(const KeptItem& item, std::optional<std::int64_t> tracked,
                 const std::string& marker) {
  if (!marker.empty()) return has_file(item, marker);
  if (tracked && item.id.starts_with("iter_")) return step_of(item.id) <= *tracked;
  if (has_file(item, ".metadata") || has_file(item, "trainer_state.json")) return true;
  if (has_index(item)) return true;
  return has_file(item, "model.safetensors") && !has_shards(item);
}

std::optional<std::uint64_t> safetensors_header_bytes(std::string_view first_eight) {
  if (first_eight.size() < kLengthBytes) return std::nullopt;
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(first_eight[i]);
  }
  return length <= kSafetensorsHeaderMax ? std::optional(length) : std::nullopt;
}

std::optional<std::uint64_t> safetensors_bytes(std::string_view head) {
  const auto length = safetensors_header_bytes(head);
  if (!length || head.size() < kLengthBytes + *length) return std::nullopt;
  const FormatJson header = FormatJson::parse(head.substr(kLengthBytes, *length), nullptr, false);
  if (!header.is_object()) return std::nullopt;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto offsets = tensor.find("data_offsets");
    const bool is_pair = offsets != tensor.end() && offsets->is_array() && offsets->size() == 2 &&
                         (*offsets)[1].is_number_unsigned();
    if (!is_pair) return std::nullopt;
    end = std::max(end, (*offsets)[1].get<std::uint64_t>());
  }
  return kLengthBytes + *length + end;
}

std::optional<std::string> missing_shard(std::string_view index, const KeptItem& item) {
  const FormatJson json = FormatJson::parse(index, nullptr, false);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) return "the index itself";
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string()) return "the index itself";
    if (!has_file(item, shard.get<std::string>())) return shard.get<std::string>();
  }
  return std::nullopt;
}

}  // namespace orrery::agent
