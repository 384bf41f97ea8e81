#include "live/store/moment.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "core/base/text.h"

namespace orrery::store {
namespace {

namespace ch = std::chrono;

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

struct Civil {
  int year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int ms = 0;
  unsigned weekday = 0;
};

Civil civil_of(rows::TimeMs moment) {
  const ch::sys_time<ch::milliseconds> time{ch::milliseconds(moment)};
  const auto days = ch::floor<ch::days>(time);
  const ch::year_month_day date(days);
  const ch::hh_mm_ss clock(time - days);
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(clock.subseconds().count()),
          ch::weekday(days).c_encoding()};
}

std::optional<rows::TimeMs> moment_of(const Civil& c) {
  const ch::year_month_day date{ch::year(c.year), ch::month(c.month), ch::day(c.day)};
  if (!date.ok() || c.hour > 23 || c.minute > 59 || c.second > 60 || c.year < 1970 ||
      c.year > 9999) {
    return std::nullopt;
  }
  const auto days = ch::sys_days(date).time_since_epoch().count();
  return ((days * 24LL + c.hour) * 60 + c.minute) * 60'000 + c.second * 1000LL + c.ms;
}

// Reads a text that consists only of digits.
template <class Number>
bool read_digits(std::string_view text, Number& to) {
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string amz_time(rows::TimeMs moment) {
  const Civil c = civil_of(moment);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", c.year, c.month, c.day, c.hour, c.minute,
                     c.second);
}

std::string xml_time(rows::TimeMs moment) {
  const Civil c = civil_of(moment);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", c.year, c.month, c.day, c.hour,
                     c.minute, c.second, c.ms);
}

std::string http_time(rows::TimeMs moment) {
  const Civil c = civil_of(moment);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[c.weekday], c.day,
                     kMonths[c.month - 1], c.year, c.hour, c.minute, c.second);
}

std::optional<rows::TimeMs> moment_of_amz(std::string_view t) {
  Civil c;
  const bool good = t.size() == 16 && t[8] == 'T' && t[15] == 'Z' &&
                    read_digits(t.substr(0, 4), c.year) && read_digits(t.substr(4, 2), c.month) &&
                    read_digits(t.substr(6, 2), c.day) && read_digits(t.substr(9, 2), c.hour) &&
                    read_digits(t.substr(11, 2), c.minute) &&
                    read_digits(t.substr(13, 2), c.second);
  return good ? moment_of(c) : std::nullopt;
}

std::optional<rows::TimeMs> moment_of_iso(std::string_view t) {
  Civil c;
  const bool dated = t.size() >= 10 && t[4] == '-' && t[7] == '-' &&
                     read_digits(t.substr(0, 4), c.year) && read_digits(t.substr(5, 2), c.month) &&
                     read_digits(t.substr(8, 2), c.day);
  if (!dated) return std::nullopt;
  if (t.size() == 10) return moment_of(c);
  const bool timed = t.size() >= 19 && t[10] == 'T' && t[13] == ':' && t[16] == ':' &&
                     read_digits(t.substr(11, 2), c.hour) &&
                     read_digits(t.substr(14, 2), c.minute) &&
                     read_digits(t.substr(17, 2), c.second);
  if (!timed) return std::nullopt;
  std::string_view rest = t.substr(19);
  if (rest.starts_with('.')) {
    const auto end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    std::string digits(rest.substr(1, end - 1));
    digits.resize(3, '0');
    if (!read_digits(digits, c.ms)) return std::nullopt;
    rest.remove_prefix(end);
  }
  if (!rest.empty() && rest != "Z" && rest != "+00:00" && rest != "+0000") return std::nullopt;
  return moment_of(c);
}

std::optional<rows::TimeMs> moment_of_http(std::string_view text) {
  const auto parts = split_at_blanks(text);
  if (parts.size() != 6 || parts[4].size() != 8) return std::nullopt;
  Civil c;
  const auto month = std::ranges::find(kMonths, parts[2]);
  const bool good = month != kMonths.end() && read_digits(parts[1], c.day) &&
                    read_digits(parts[3], c.year) && read_digits(parts[4].substr(0, 2), c.hour) &&
                    read_digits(parts[4].substr(3, 2), c.minute) &&
                    read_digits(parts[4].substr(6, 2), c.second);
  if (!good) return std::nullopt;
  c.month = static_cast<unsigned>(month - kMonths.begin()) + 1;
  return moment_of(c);
}

}  // namespace orrery::store
