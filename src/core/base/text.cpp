#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace orrery {

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = s.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = s.find(separator);
    parts.push_back(s.substr(0, at));
    if (at == std::string_view::npos) return parts;
    s.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_at_blanks(std::string_view s) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(s, ' ')) {
    if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  }
  return parts;
}

std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_valid_utf8(std::string_view s) {
  std::size_t i = 0;
  while (i < s.size()) {
    const auto lead = static_cast<unsigned char>(s[i]);
    std::size_t more = 0;
    std::uint32_t point = lead;
    if (lead >= 0xf0 && lead <= 0xf4) {
      more = 3, point = lead & 0x07u;
    } else if (lead >= 0xe0 && lead < 0xf0) {
      more = 2, point = lead & 0x0fu;
    } else if (lead >= 0xc2 && lead < 0xe0) {
      more = 1, point = lead & 0x1fu;
    } else if (lead >= 0x80) {
      return false;
    }
    if (s.size() - i <= more) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      const auto c = static_cast<unsigned char>(s[i + k]);
      if ((c & 0xc0u) != 0x80u) return false;
      point = point << 6 | (c & 0x3fu);
    }
    const bool overlong = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
    if (overlong || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return false;
    i += more + 1;
  }
  return true;
}

std::optional<double> parse_number(std::string_view s) {
  if (s.empty()) return std::nullopt;
  const bool has_plus = s.front() == '+';
  if (has_plus) s.remove_prefix(1);
  const bool digit_next = !s.empty() && ((s.front() == '-' && !has_plus) || s.front() == '.' ||
                                         (s.front() >= '0' && s.front() <= '9'));
  if (!digit_next) return std::nullopt;
  double v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc{} || end != s.data() + s.size() || !std::isfinite(v)) return std::nullopt;
  return v;
}

std::optional<std::int64_t> parse_integer(std::string_view s) {
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (s.empty() || error != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return v;
}

std::string shortest(double v) {
  std::array<char, 64> buffer{};
  const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return {buffer.data(), r.ptr};
}

std::string significant(double v, int digits) {
  if (v == 0) return "0";
  if (!std::isfinite(v)) return v > 0 ? "inf" : v < 0 ? "-inf" : "nan";
  std::array<char, 64> buffer{};
  const auto r = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v,
                               std::chars_format::scientific, digits - 1);
  // Printing the rounded value in its shortest form drops trailing zeros and, between 1e-9 and
  // 1e15, exponents.
  double rounded = 0;
  std::from_chars(buffer.data(), r.ptr, rounded);
  const bool plain = std::fabs(rounded) < 1e15 && std::fabs(rounded) >= 1e-9;
  const auto p = plain ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), rounded,
                                       std::chars_format::fixed)
                       : std::to_chars(buffer.data(), buffer.data() + buffer.size(), rounded);
  return {buffer.data(), p.ptr};
}

std::string grouped(std::int64_t v) {
  std::string digits = std::to_string(v);
  const std::size_t first = v < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  // A longer word is no typing error, and comparing it costs time.
  constexpr std::size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return std::nullopt;
  // One wrong letter in a word of three still counts as a typing error.
  std::size_t best = word.size() / 3 + 1;
  std::optional<std::string> found;
  std::vector<std::size_t> row;
  for (const std::string& candidate : candidates) {
    row.resize(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t above = row[j];
        row[j] = word[i - 1] == candidate[j - 1] ? diagonal
                                                 : 1 + std::min({diagonal, above, row[j - 1]});
        diagonal = above;
      }
    }
    if (row.back() < best || (row.back() == best && !found)) {
      best = row.back();
      found = candidate;
    }
  }
  return found;
}

}  // namespace orrery
