#include "app/cli/keep_words.h"

#include <optional>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::cli {
namespace {

std::optional<std::int64_t> count_in(std::string_view text) {
  const auto count = parse_integer(text);
  return count && *count >= 0 ? count : std::nullopt;
}

// Reads "22-6": from ten in the evening to six in the morning, UTC.
bool read_hours(std::string_view text, storage::KeepPlace& place) {
  const auto parts = split(text, '-');
  if (parts.size() != 2) return false;
  const auto opens = count_in(parts[0]), closes = count_in(parts[1]);
  if (!opens || !closes || *opens > 24 || *closes > 24 || *opens == *closes) return false;
  place.opens = hours(static_cast<double>(*opens));
  place.closes = hours(static_cast<double>(*closes));
  return true;
}

}  // namespace

bool read_keep_word(std::string_view word, storage::KeepPlace& place) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  const auto span = [&](Seconds& into) {
    const auto read = parse_quantity<Seconds>(value);
    if (read) into = *read;
    return read.has_value();
  };
  storage::KeepRule& keep = place.keep;
  if (word == "written") return place.written = true;
  if (word == "volatile") return place.durable = false, true;
  if (word == "all") return keep.everything = true;
  if (word == "milestones") return keep.milestones = true;
  if (name == "window") return span(keep.window);
  if (name == "spacing") return span(keep.spacing);
  if (name == "hours") return read_hours(value, place);
  if (name == "pace") {
    const auto pace = parse_quantity<BytesPerSecond>(value);
    if (pace) place.pace = *pace;
    return pace && *pace > BytesPerSecond();
  }
  const auto count = count_in(value);
  if (name == "newest" && count && *count < 1'000'000) {
    return keep.newest = static_cast<int>(*count), true;
  }
  if (name == "every" && count && *count > 0) {
    keep.milestones = true;
    return keep.milestone_every = *count, true;
  }
  return false;
}

}  // namespace orrery::cli
