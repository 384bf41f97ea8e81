#include "output/report/view_catalog.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/catalog/fact_tables.h"

namespace orrery::report {
namespace {

// Returns true if a table's name contains the wanted word, as `grid_regions` contains "regions".
bool has_word(std::string_view table, std::string_view wanted) {
  const auto parts = split(table, '_');
  return std::ranges::find(parts, wanted) != parts.end();
}

// Returns the fault for an unknown table. If the name is a row, as in "orrery catalog h100-sxm",
// says in which table; if it is part of a table's name, suggests that table.
Diagnostics unknown_table(const catalog::Knowledge& knowledge, std::string_view name,
                          Diagnostics faults) {
  const auto titles = catalog_titles(knowledge);
  if (!titles) return faults;
  for (const catalog::TableTitle& title : *titles) {
    const auto table = catalog_table(knowledge, title.id);
    if (!table || !catalog::row_by_id(*table, name)) continue;
    faults.front().fix = fmt::format("that is a row: orrery catalog {} {}", title.id, name);
    return faults;
  }
  for (const catalog::TableTitle& title : *titles) {
    if (!has_word(title.id, lowered(name))) continue;
    faults.front().fix = fmt::format("did you mean '{}'?", title.id);
    break;
  }
  return faults;
}

Diagnostics unknown_row(const std::string& name, const CsvTable& table, std::string_view id) {
  const auto close = nearest(id, catalog::row_ids(table));
  return {{.code = "catalog.row",
           .place = {},
           .what = fmt::format("there is no row '{}' in {}", id, name),
           .why = {},
           .fix = close ? fmt::format("did you mean '{}'?", *close)
                        : fmt::format("`orrery catalog {}` lists them", name)}};
}

// Writes a row. Fields are numbers if all fields of their column are.
void write_row(JsonWriter& json, const CsvTable& table, const CsvRow& row,
               const std::vector<bool>& numeric) {
  json.begin_object();
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const std::string_view field = trimmed(row.fields[i]);
    json.key(table.columns()[i]);
    if (field.empty()) {
      json.null();
    } else if (numeric[i]) {
      json.value(parse_number(field).value_or(0));
    } else {
      json.value(field);
    }
  }
  json.end_object();
}

Result<std::string> tables_json(const catalog::Knowledge& knowledge) {
  const auto titles = catalog_titles(knowledge);
  if (!titles) return std::unexpected(titles.error());
  JsonWriter json;
  json.begin_object().field("schema_version", 1).key("tables").begin_array();
  for (const catalog::TableTitle& title : *titles) {
    const auto table = catalog_table(knowledge, title.id);
    if (!table) return std::unexpected(table.error());
    json.begin_object().field("table", title.id).field("rows", table->rows().size());
    json.field("group", title.group).field("title", title.title).end_object();
  }
  json.end_array().end_object();
  return json.text() + '\n';
}

}  // namespace

Result<CatalogRows> catalog_rows(const catalog::Knowledge& knowledge, std::string_view table,
                                 std::string_view id) {
  auto found = catalog_table(knowledge, table);
  if (!found) return std::unexpected(unknown_table(knowledge, table, found.error()));
  CatalogRows rows{.name = lowered(table), .table = *std::move(found), .rows = {}};
  std::ranges::replace(rows.name, '-', '_');
  if (id.empty()) {
    rows.rows.assign(rows.table.rows().begin(), rows.table.rows().end());
    return rows;
  }
  const CsvRow* row = catalog::row_by_id(rows.table, id);
  if (!row) return std::unexpected(unknown_row(rows.name, rows.table, id));
  rows.rows.push_back(*row);
  return rows;
}

std::vector<bool> numeric_columns(const CsvTable& table) {
  std::vector<bool> numeric(table.columns().size(), false);
  for (std::size_t i = 0; i < numeric.size(); ++i) {
    bool any = false;
    bool all = true;
    for (const CsvRow& row : table.rows()) {
      const std::string_view field = trimmed(row.fields[i]);
      if (field.empty()) continue;
      any = true;
      all = all && parse_number(field).has_value();
    }
    numeric[i] = any && all && table.columns()[i] != "date";
  }
  return numeric;
}

std::string json_of(const CatalogRows& rows) {
  const std::vector<bool> numeric = numeric_columns(rows.table);
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("table", rows.name);
  json.key("rows").begin_array();
  for (const CsvRow& row : rows.rows) write_row(json, rows.table, row, numeric);
  json.end_array().end_object();
  return json.text() + '\n';
}

Result<std::string> catalog_view_json(const catalog::Knowledge& knowledge, std::string_view table,
                                      std::string_view id) {
  if (table.empty()) return tables_json(knowledge);
  const auto rows = catalog_rows(knowledge, table, id);
  if (!rows) return std::unexpected(rows.error());
  return json_of(*rows);
}

}  // namespace orrery::report
