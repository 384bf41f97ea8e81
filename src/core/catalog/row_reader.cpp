#include "core/catalog/row_reader.h"

#include <algorithm>

#include "core/base/text.h"

namespace orrery::catalog {

std::string_view RowReader::field(std::string_view column) {
  const std::vector<std::string>& columns = row_.columns;
  const std::size_t count = columns.size();
  for (std::size_t step = 0; step < count; ++step) {
    std::size_t at = next_ + step;
    if (at >= count) at -= count;
    if (columns[at] == column) {
      next_ = at + 1 == count ? 0 : at + 1;
      return trimmed(row_.fields[at]);
    }
  }
  return {};
}

std::string RowReader::id() {
  id_ = text("id");
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+' ||
           c == '/';
  };
  if (id_.empty() || !std::ranges::all_of(id_, is_plain)) {
    fault("catalog.id", "'" + std::string(id_) + "' is not a valid id",
          "ids are lower case letters, digits, hyphens and dots");
  }
  return std::string(id_);
}

std::string_view RowReader::text(std::string_view column) { return field(column); }

std::vector<std::string> RowReader::list(std::string_view column, char separator) {
  std::vector<std::string> items;
  for (const std::string_view part : split(text(column), separator)) {
    if (!trimmed(part).empty()) items.emplace_back(trimmed(part));
  }
  return items;
}

std::optional<double> RowReader::parsed(std::string_view given, std::string_view column) {
  if (given.empty()) return std::nullopt;
  const auto value = parse_number(given);
  if (value && *value >= 0) return value;
  fault("catalog.number", "'" + std::string(given) + "' in column '" + std::string(column) +
                              "' is not a number at or above zero");
  return std::nullopt;
}

std::optional<int> RowReader::whole(std::optional<double> value, std::string_view column) {
  if (!value) return std::nullopt;
  if (*value < 1e9 && *value == static_cast<double>(static_cast<int>(*value))) {
    return static_cast<int>(*value);
  }
  fault("catalog.number", "column '" + std::string(column) + "' needs a whole number");
  return std::nullopt;
}

std::string_view RowReader::needed(std::string_view column) {
  const std::string_view given = text(column);
  if (given.empty()) {
    fault("catalog.missing", "column '" + std::string(column) + "' is blank",
          "rows of this table cannot be used without it");
  }
  return given;
}

std::optional<double> RowReader::maybe(std::string_view column) {
  return parsed(text(column), column);
}

std::optional<int> RowReader::maybe_int(std::string_view column) {
  return whole(maybe(column), column);
}

double RowReader::number(std::string_view column) {
  return parsed(needed(column), column).value_or(0);
}

int RowReader::integer(std::string_view column) {
  return whole(parsed(needed(column), column), column).value_or(0);
}

std::optional<PriceRange> RowReader::price(std::string_view low, std::string_view high,
                                           double scale) {
  const auto from = maybe(low);
  const auto to = maybe(high);
  if (!from && !to) return std::nullopt;
  if (!from || !to) {
    fault("catalog.price-half", "one end of the price range is blank");
    return std::nullopt;
  }
  return PriceRange{usd(*from * scale), usd(*to * scale)};
}

PriceRange RowReader::need_price(std::string_view low, std::string_view high) {
  return {usd(number(low)), usd(number(high))};
}

Confidence RowReader::confidence(std::string_view column) {
  const std::string_view given = text(column);
  const auto confidence = from_word<Confidence>(given);
  if (!confidence) {
    fault("catalog.confidence",
          "column '" + std::string(column) + "' must be high, medium or low, not '" +
              std::string(given) + "'",
          "the confidence of a fact sets the interval of every figure that uses it");
  }
  return confidence.value_or(Confidence::low);
}

Provenance RowReader::provenance() {
  Provenance p;
  p.line = row_.line;
  p.reference.reserve(table_name_.size() + 1 + id_.size());
  p.reference.append(table_name_).append("/").append(id_);
  p.source = str("source");
  p.date = str("date");
  const std::string_view basis = text("basis");
  p.basis = from_word<FactBasis>(basis).value_or(FactBasis::recall);
  if (word_of(p.basis) != basis) {
    fault("catalog.basis",
          "basis must be seen, recall, derived or measured, not '" + std::string(basis) + "'");
  }
  p.confidence = confidence("confidence");
  if (p.source.empty()) {
    fault("catalog.source", "the row names no source",
          "a figure whose source cannot be looked up cannot be defended");
  }
  if (p.date.empty()) fault("catalog.date", "the row has no date");
  return p;
}

void RowReader::fault(std::string code, std::string what, std::string why) {
  faults_.push_back({.code = std::move(code),
                     .place = {file_, row_.line, 1},
                     .what = std::move(what),
                     .why = std::move(why)});
}

}  // namespace orrery::catalog
