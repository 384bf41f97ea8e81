#include "base/csv.h"

#include <algorithm>

#include "base/text.h"

namespace orrery {
namespace {

struct Record {
  int line;
  std::vector<std::string> fields;
};

struct Records {
  std::vector<Record> all;
  bool open_quote = false;
};

Records read_records(std::string_view text) {
  Records out;
  int line = 1;
  std::size_t i = 0;
  while (i < text.size()) {
    Record record{line, {}};
    std::string field;
    bool quoted = false;
    for (;; ++i) {
      const bool end = i >= text.size();
      const char c = end ? '\n' : text[i];
      if (quoted && !end) {
        if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
          field += '"', ++i;
        } else if (c == '"') {
          quoted = false;
        } else {
          field += c;
          line += c == '\n';
        }
        continue;
      }
      if (end && quoted) out.open_quote = true;
      if (c == '"' && field.empty()) {
        quoted = true;
      } else if (c == ',') {
        record.fields.push_back(std::move(field));
        field.clear();
      } else if (c == '\n') {
        if (!field.empty() && field.back() == '\r') field.pop_back();
        record.fields.push_back(std::move(field));
        ++line, ++i;
        break;
      } else {
        field += c;
      }
    }
    const bool blank = record.fields.size() == 1 && trimmed(record.fields[0]).empty();
    if (!blank) out.all.push_back(std::move(record));
  }
  return out;
}

}  // namespace

Result<CsvTable> CsvTable::parse(std::string_view text, std::string file) {
  CsvTable table;
  table.file_ = std::move(file);
  Diagnostics faults;
  const auto fault = [&](int line, std::string code, std::string what) {
    faults.push_back(
        {.code = std::move(code), .place = {table.file_, line, 1}, .what = std::move(what)});
  };

  Records records = read_records(text);
  if (records.open_quote) fault(0, "csv.quote", "a quoted field is never closed");
  if (records.all.empty()) {
    fault(0, "csv.empty", "the table has no header line");
    return std::unexpected(std::move(faults));
  }
  for (std::string& name : records.all.front().fields) {
    name = std::string(trimmed(name));
    if (std::ranges::find(table.columns_, name) != table.columns_.end()) {
      fault(records.all.front().line, "csv.duplicate-column",
            "column '" + name + "' appears twice");
    }
    table.columns_.push_back(name);
  }
  for (std::size_t i = 1; i < records.all.size(); ++i) {
    Record& r = records.all[i];
    if (r.fields.size() != table.columns_.size()) {
      fault(r.line, "csv.ragged",
            "the row has " + std::to_string(r.fields.size()) + " fields, the header " +
                std::to_string(table.columns_.size()));
      continue;
    }
    table.rows_.push_back({r.line, std::move(r.fields)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
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
