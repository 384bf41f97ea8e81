// `orrery catalog [TABLE [ID]]`: what the catalog says about a part, and from which source.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "core/base/text.h"
#include "core/catalog/fact_tables.h"
#include "core/catalog/provenance.h"
#include "output/report/document.h"
#include "output/report/view_catalog.h"

namespace orrery::cli {
namespace {

struct CatalogOptions {
  std::string table;
  std::string id;
  Format format = Format::text;
};

// Widest column of a list, in characters; wider columns appear only on the page of a row.
constexpr std::size_t kWidestListed = 30;
// Blanks between the columns of a text table.
constexpr std::size_t kGap = 2;

void print(Terminal& terminal, const report::Document& document, Format format) {
  terminal.out << (format == Format::markdown ? to_markdown(document)
                                              : to_text(document, terminal.style));
}

void print_csv(Terminal& terminal, const report::CatalogRows& rows) {
  const auto put = [&](const std::vector<std::string>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      terminal.out << (i > 0 ? "," : "") << csv_field(fields[i]);
    }
    terminal.out << '\n';
  };
  put(rows.table.columns());
  for (const CsvRow& row : rows.rows) put(row.fields);
}

std::size_t width_of(const CsvTable& table, std::size_t column) {
  std::size_t width = table.columns()[column].size();
  for (const CsvRow& row : table.rows()) {
    width = std::max(width, trimmed(row.fields[column]).size());
  }
  return width;
}

// Returns the columns of a list: the id, then columns in file order while they fit the line, then
// the confidence.
std::vector<std::size_t> listed_columns(const CsvTable& table) {
  const std::size_t confidence = table.column("confidence").value_or(0);
  std::size_t used = width_of(table, 0) + kGap + width_of(table, confidence);
  std::vector<std::size_t> chosen = {0};
  for (std::size_t i = 1; i < table.columns().size(); ++i) {
    const std::string& name = table.columns()[i];
    const std::size_t width = width_of(table, i);
    const bool told_elsewhere = name == "source" || name == "date" || name == "aliases";
    if (i == confidence || told_elsewhere || width > kWidestListed) continue;
    if (used + kGap + width > report::kTextWidth) break;
    chosen.push_back(i);
    used += kGap + width;
  }
  chosen.push_back(confidence);
  return chosen;
}

report::Document list_of_rows(const std::string& name, const CsvTable& table) {
  const std::vector<std::size_t> columns = listed_columns(table);
  const std::vector<bool> numeric = report::numeric_columns(table);
  report::Table listed;
  for (const std::size_t c : columns) {
    listed.header.push_back(table.columns()[c]);
    listed.flush_right.push_back(numeric[c]);
  }
  for (const CsvRow& row : table.rows()) {
    std::vector<std::string>& cells = listed.rows.emplace_back();
    for (const std::size_t c : columns) cells.emplace_back(trimmed(row.fields[c]));
  }
  report::Document document;
  document.heading(1, fmt::format("{}: {} rows", name, table.rows().size()));
  document.table(std::move(listed));
  document.paragraph(
      fmt::format("`orrery catalog {} ID` shows a row with its source; --format csv or json prints "
                  "every column.",
                  name));
  return document;
}

std::string meaning_of(std::string_view confidence) {
  const double width = confidence == "high"     ? catalog::kHighConfidenceWidth
                       : confidence == "medium" ? catalog::kMediumConfidenceWidth
                                                : catalog::kLowConfidenceWidth;
  return fmt::format("{} (80 % interval of +-{:.0f} %)", confidence, width * 100);
}

report::Document page_of_row(const std::string& name, const CsvTable& table, const CsvRow& row) {
  report::Document document;
  document.heading(1, fmt::format("{}/{}", name, table.text(row, "id")));
  report::Table facts;
  for (std::size_t i = 1; i < table.columns().size(); ++i) {
    const std::string_view field = trimmed(row.fields[i]);
    if (field.empty()) continue;
    const bool grade = table.columns()[i].starts_with("confidence");
    facts.rows.push_back({table.columns()[i], grade ? meaning_of(field) : std::string(field)});
  }
  document.table(std::move(facts));
  std::string unknown;
  for (std::size_t i = 1; i < table.columns().size(); ++i) {
    if (!trimmed(row.fields[i]).empty()) continue;
    unknown += (unknown.empty() ? "" : ", ") + table.columns()[i];
  }
  if (!unknown.empty()) document.paragraph("Not stated: " + unknown + ".");
  return document;
}

ExitCode list_tables(const CatalogOptions& options, const catalog::Knowledge& knowledge,
                     Terminal& terminal) {
  const auto titles = catalog_titles(knowledge);
  if (!titles) return refuse(terminal, titles.error());
  report::Table listed{
      .header = {"table", "rows", "about", "what"}, .rows = {}, .flush_right = {false, true}};
  for (const catalog::TableTitle& title : *titles) {
    const auto table = catalog_table(knowledge, title.id);
    if (!table) return refuse(terminal, table.error());
    listed.rows.push_back(
        {title.id, std::to_string(table->rows().size()), title.group, title.title});
  }
  if (options.format == Format::csv) {
    terminal.out << "table,rows,group,title\n";
    for (const auto& row : listed.rows) {
      terminal.out << fmt::format("{},{},{},{}\n", row[0], row[1], row[2], csv_field(row[3]));
    }
  } else {
    report::Document document;
    document.heading(1, "Catalog");
    document.table(std::move(listed));
    document.paragraph(
        "`orrery catalog TABLE` lists a table; `orrery catalog TABLE ID` shows one row.");
    print(terminal, document, options.format);
  }
  return ExitCode::good;
}

ExitCode run_catalog(const CatalogOptions& options, Terminal& terminal) {
  const auto knowledge = shipped_knowledge();
  if (!knowledge) return refuse(terminal, knowledge.error());
  if (options.format == Format::json) {
    const auto json = report::catalog_view_json(*knowledge, options.table, options.id);
    if (!json) return refuse(terminal, json.error());
    terminal.out << *json;
    return ExitCode::good;
  }
  if (options.table.empty()) return list_tables(options, *knowledge, terminal);
  const auto found = report::catalog_rows(*knowledge, options.table, options.id);
  if (!found) return refuse(terminal, found.error());
  if (options.format == Format::csv) {
    print_csv(terminal, *found);
  } else {
    print(terminal,
          options.id.empty() ? list_of_rows(found->name, found->table)
                             : page_of_row(found->name, found->table, found->rows.front()),
          options.format);
  }
  return ExitCode::good;
}

}  // namespace

Verb catalog_verb() {
  return {.name = "catalog",
          .summary = "List parts, models, regions and prices with their sources",
          .examples = {"orrery catalog", "orrery catalog nodes", "orrery catalog nodes dgx-h100",
                       "orrery catalog accelerators --format csv"},
          .prepare = [](Arguments& arguments) -> Run {
            auto options = std::make_shared<CatalogOptions>();
            arguments.optional_positional("TABLE", options->table,
                                          "name of a table; without it, all tables are listed");
            arguments.optional_positional("ID", options->id, "id or alias of one row");
            arguments.format(options->format,
                             {Format::text, Format::json, Format::csv, Format::markdown});
            return [options](Terminal& terminal) { return run_catalog(*options, terminal); };
          }};
}

}  // namespace orrery::cli
