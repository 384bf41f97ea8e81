#include "core/catalog/fact_tables.h"

#include <algorithm>

#include "core/base/text.h"

namespace orrery::catalog {
namespace {

constexpr std::string_view kFolder = "catalog/";
constexpr std::string_view kEnding = ".csv";

std::vector<std::string> table_names(const Knowledge& knowledge) {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : knowledge.files) {
    if (!file.path.starts_with(kFolder) || !file.path.ends_with(kEnding)) continue;
    names.emplace_back(
        file.path.substr(kFolder.size(), file.path.size() - kFolder.size() - kEnding.size()));
  }
  return names;
}

}  // namespace

Result<std::vector<TableTitle>> catalog_titles(const Knowledge& knowledge) {
  const auto table = knowledge.table("catalog_index.csv");
  if (!table) return std::unexpected(table.error());
  std::vector<TableTitle> titles;
  for (const CsvRow& row : table->rows()) {
    titles.push_back({std::string(table->text(row, "id")), std::string(table->text(row, "group")),
                      std::string(table->text(row, "title"))});
  }
  return titles;
}

Result<CsvTable> catalog_table(const Knowledge& knowledge, std::string_view name) {
  std::string id = lowered(name);
  std::ranges::replace(id, '-', '_');
  const std::string path = std::string(kFolder) + id + std::string(kEnding);
  if (const auto text = knowledge.text(path)) return CsvTable::parse(*text, path);
  const auto close = nearest(id, table_names(knowledge));
  return fail({.code = "catalog.table",
               .place = {},
               .what = "no table '" + std::string(name) + "'",
               .why = {},
               .fix = close ? "did you mean '" + *close + "'?" : "`orrery catalog` lists them"});
}

const CsvRow* row_by_id(const CsvTable& table, std::string_view id) {
  const std::string wanted = lowered(id);
  for (const CsvRow& row : table.rows()) {
    if (lowered(table.text(row, "id")) == wanted) return &row;
  }
  for (const CsvRow& row : table.rows()) {
    for (const std::string_view alias : split(table.text(row, "aliases"), '|')) {
      if (!alias.empty() && lowered(alias) == wanted) return &row;
    }
  }
  return nullptr;
}

std::vector<std::string> row_ids(const CsvTable& table) {
  std::vector<std::string> ids;
  for (const CsvRow& row : table.rows()) {
    ids.emplace_back(table.text(row, "id"));
    for (const std::string_view alias : split(table.text(row, "aliases"), '|')) {
      if (!alias.empty()) ids.emplace_back(alias);
    }
  }
  return ids;
}

}  // namespace orrery::catalog
