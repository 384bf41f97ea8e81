#include "core/base/csv.h"

#include <algorithm>
#include <deque>

#include "core/base/text.h"

namespace orrery {
namespace {

// Reads the records of a text one after another. A field is a view of the text, unless it contained
// doubled quotes; then it is a view of a copy in which they are single.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Moves to the next record; returns false at the end. Skips blank lines.
  bool next() {
    while (at_ < text_.size()) {
      record_line_ = line_;
      fields_.clear();
      copies_.clear();
      while (read_field()) {
      }
      if (fields_.size() > 1 || !trimmed(fields_[0]).empty()) return true;
    }
    return false;
  }

  int line() const { return record_line_; }
  const std::vector<std::string_view>& fields() const { return fields_; }
  bool open_quote() const { return open_quote_; }

 private:
  // Reads one field; returns true if a comma, and so another field, follows.
  bool read_field() {
    std::string_view field;
    if (at_ < text_.size() && text_[at_] == '"') {
      field = quoted();
      // Text after a closing quote belongs to the field, as in a"b. This is rare, so it may copy.
      const std::string_view rest = plain();
      if (!rest.empty()) field = copies_.emplace_back(std::string(field) + std::string(rest));
    } else {
      field = plain();
    }
    const bool more = at_ < text_.size() && text_[at_] == ',';
    if (!more && field.ends_with('\r')) field.remove_suffix(1);
    fields_.push_back(field);
    line_ += !more;
    ++at_;
    return more;
  }

  std::string_view plain() {
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') ++at_;
    return text_.substr(from, at_ - from);
  }

  std::string_view quoted() {
    const std::size_t from = ++at_;
    bool doubled = false;
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] == '"') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') break;
        doubled = true;
        ++at_;
      }
      ++at_;
    }
    const std::string_view inside = text_.substr(from, at_ - from);
    if (at_ >= text_.size()) {
      open_quote_ = true;
    } else {
      ++at_;
    }
    return doubled ? undoubled(inside) : inside;
  }

  std::string_view undoubled(std::string_view inside) {
    std::string& copy = copies_.emplace_back();
    for (std::size_t i = 0; i < inside.size(); ++i) {
      copy += inside[i];
      if (inside[i] == '"') ++i;
    }
    return copy;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int record_line_ = 1;
  bool open_quote_ = false;
  std::vector<std::string_view> fields_;
  // A deque, because growing it does not move the strings that views point to.
  std::deque<std::string> copies_;
};

std::vector<std::string> read_header(Scanner& scanner, const std::string& file,
                                     Diagnostics& faults) {
  std::vector<std::string> columns;
  if (!scanner.next()) {
    faults.push_back(
        {.code = "csv.empty", .place = {file, 0, 1}, .what = "the table has no header line"});
    return columns;
  }
  for (const std::string_view field : scanner.fields()) {
    std::string name(trimmed(field));
    if (std::ranges::find(columns, name) != columns.end()) {
      faults.push_back({.code = "csv.duplicate-column",
                        .place = {file, scanner.line(), 1},
                        .what = "column '" + name + "' appears twice"});
    }
    columns.push_back(std::move(name));
  }
  return columns;
}

}  // namespace

Diagnostics scan_csv(std::string_view text, const std::string& file,
                     const std::function<void(const CsvView&)>& each) {
  Diagnostics faults;
  Scanner scanner(text);
  const std::vector<std::string> columns = read_header(scanner, file, faults);
  while (!columns.empty() && scanner.next()) {
    if (scanner.fields().size() == columns.size()) {
      each({columns, scanner.line(), scanner.fields()});
    } else {
      faults.push_back({.code = "csv.ragged",
                        .place = {file, scanner.line(), 1},
                        .what = "the row has " + std::to_string(scanner.fields().size()) +
                                " fields, but the header has " + std::to_string(columns.size())});
    }
  }
  if (scanner.open_quote()) {
    faults.push_back(
        {.code = "csv.quote", .place = {file, 0, 1}, .what = "a quoted field is never closed"});
  }
  return faults;
}

Result<CsvTable> CsvTable::parse(std::string_view text, std::string file) {
  CsvTable table;
  table.file_ = std::move(file);
  Diagnostics faults = scan_csv(text, table.file_, [&](const CsvView& row) {
    table.rows_.push_back({row.line, {row.fields.begin(), row.fields.end()}});
  });
  if (!faults.empty()) return std::unexpected(std::move(faults));
  Scanner scanner(text);
  table.columns_ = read_header(scanner, table.file_, faults);
  return table;
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] == name) return i;
  }
  return std::nullopt;
}

std::string_view CsvTable::text(const CsvRow& row, std::string_view name) const {
  const auto at = column(name);
  return at ? trimmed(row.fields[*at]) : std::string_view{};
}

std::optional<double> CsvTable::number(const CsvRow& row, std::string_view name) const {
  return parse_number(text(row, name));
}

std::optional<std::int64_t> CsvTable::integer(const CsvRow& row, std::string_view name) const {
  return parse_integer(text(row, name));
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace orrery
