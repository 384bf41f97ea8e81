#include "live/net/message.h"

#include <algorithm>

#include "core/base/text.h"

namespace orrery::net {

bool is_same_name(std::string_view a, std::string_view b) {
  const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, low, low);
}

std::string_view header_of(const HeaderList& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (is_same_name(key, name)) return value;
  }
  return {};
}

BodySource source_of(std::string_view bytes) {
  return [bytes](std::uint64_t offset, std::span<char> into) {
    const auto at = static_cast<std::size_t>(std::min<std::uint64_t>(offset, bytes.size()));
    return std::optional(bytes.copy(into.data(), into.size(), at));
  };
}

std::string_view path_of(const Request& request) {
  return std::string_view(request.target).substr(0, request.target.find('?'));
}

std::string_view query_value(const Request& request, std::string_view name) {
  const std::size_t mark = request.target.find('?');
  if (mark == std::string::npos) return {};
  for (const std::string_view pair :
       split(std::string_view(request.target).substr(mark + 1), '&')) {
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) != name) continue;
    return equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
  }
  return {};
}

}  // namespace orrery::net
