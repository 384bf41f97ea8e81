// Small, exact text helpers: numbers that round-trip, splitting, trimming, and the closest name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

std::string_view trimmed(std::string_view s);
std::vector<std::string_view> split(std::string_view s, char separator);
std::vector<std::string_view> split_at_blanks(std::string_view s);  // no part is empty
std::string lowered(std::string_view s);
bool is_valid_utf8(std::string_view s);

// Parses the whole of `s` as a number in plain or scientific notation. Returns nullopt for two
// signs, hexadecimal, octal, infinity or trailing text.
std::optional<double> parse_number(std::string_view s);
std::optional<std::int64_t> parse_integer(std::string_view s);

// Returns the shortest text that reads back as the same double.
std::string shortest(double v);
// Writes `digits` significant digits without trailing zeros, and without an exponent below 1e15:
// 1,234 with three digits becomes "1230".
std::string significant(double v, int digits);
// Writes 1234567 as "1,234,567".
std::string grouped(std::int64_t v);

// Returns the candidate nearest to `word` in edit distance, if it is near enough for `word` to be a
// likely typing error of it.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace orrery
