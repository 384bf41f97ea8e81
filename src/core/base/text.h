// Small, exact helpers for text: numbers that round-trip, splitting, trimming, close names.
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
std::vector<std::string_view> split_at_blanks(std::string_view s);  // none of the parts is empty
std::string lowered(std::string_view s);
bool is_valid_utf8(std::string_view s);

// The whole of `s` as a number in plain or scientific notation; no sign tricks, no hexadecimal, no
// octal, no infinity, no trailing text.
std::optional<double> parse_number(std::string_view s);
std::optional<std::int64_t> parse_integer(std::string_view s);

// The shortest text that reads back as the same double.
std::string shortest(double v);
// `digits` significant digits, trailing zeros dropped, never an exponent below 1e15: 1,234 ->
// "1230".
std::string significant(double v, int digits);
// 1234567 -> "1,234,567".
std::string grouped(std::int64_t v);

// The candidate nearest to `word` in edit distance, if near enough to be a likely typing error.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace orrery
