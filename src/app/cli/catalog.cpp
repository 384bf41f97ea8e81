// `orrery catalog [TABLE [ID]]`: what is known of a part, and who said so.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "core/base/json_writer.h"
#include "core/base/text.h"
#include "core/catalog/fact_tables.h"
#include "core/catalog/provenance.h"
#include "app/cli/session.h"
#include "app/cli/verb.h"
#include "output/report/document.h"

namespace orrery::cli {
namespace {

struct CatalogOptions {
  std::string table;
  std::string id;
  Format format = Format::text;
};

// A column whose widest field is longer is left to the page of the row.
constexpr std::size_t kWidestListed = 30;
// Between columns of a text table.
constexpr std::size_t kGap = 2;

void print(Terminal& terminal, const report::Document& document, Format format) {
  terminal.out << (format == Format::markdown ? to_markdown(document) : to_text(document));
}

// Numbers stay numbers in JSON where the whole column is numbers.
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

void print_json(Terminal& terminal, const std::string& name, const CsvTable& table,
                const CsvRow* only) {
  const std::vector<bool> numeric = numeric_columns(table);
  JsonWriter json;
  json.begin_object().field("schema_version", 1).field("table", name).key("rows").begin_array();
  for (const CsvRow& row : table.rows()) {
    if (!only || only == &row) write_row(json, table, row, numeric);
  }
  json.end_array().end_object();
  terminal.out << json.text() << '\n';
}

void print_csv(Terminal& terminal, const CsvTable& table, const CsvRow* only) {
  const auto put = [&](const std::vector<std::string>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      terminal.out << (i > 0 ? "," : "") << csv_field(fields[i]);
    }
    terminal.out << '\n';
  };
  put(table.columns());
  for (const CsvRow& row : table.rows()) {
    if (!only || only == &row) put(row.fields);
  }
}

std::size_t width_of(const CsvTable& table, std::size_t column) {
  std::size_t width = table.columns()[column].size();
  for (const CsvRow& row : table.rows()) {
    width = std::max(width, trimmed(row.fields[column]).size());
  }
  return width;
}

// The columns of a list: the id, then in file order what fits the line, and how sure it is.
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
  const std::vector<bool> numeric = numeric_columns(table);
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
      fmt::format("`orrery catalog {} ID` shows a row with its source; --format csv "
                  "or json has every column.",
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
  if (options.format == Format::json) {
    JsonWriter json;
    json.begin_object().field("schema_version", 1).key("tables").begin_array();
    for (const auto& row : listed.rows) {
      json.begin_object().field("table", row[0]).key("rows").value(*parse_number(row[1]));
      json.field("group", row[2]).field("title", row[3]).end_object();
    }
    json.end_array().end_object();
    terminal.out << json.text() << '\n';
  } else if (options.format == Format::csv) {
    terminal.out << "table,rows,group,title\n";
    for (const auto& row : listed.rows) {
      terminal.out << fmt::format("{},{},{},{}\n", row[0], row[1], row[2], csv_field(row[3]));
    }
  } else {
    report::Document document;
    document.heading(1, "Catalog");
    document.table(std::move(listed));
    document.paragraph("`orrery catalog TABLE` lists a table, `orrery catalog TABLE ID` one row.");
    print(terminal, document, options.format);
  }
  return ExitCode::good;
}

// "orrery catalog h100-sxm": say in which table it is, since that is what was meant.
Diagnostics unknown_table(const CatalogOptions& options, const catalog::Knowledge& knowledge,
                          Diagnostics faults) {
  const auto titles = catalog_titles(knowledge);
  if (!titles) return faults;
  for (const catalog::TableTitle& title : *titles) {
    const auto table = catalog_table(knowledge, title.id);
    if (!table || !catalog::row_by_id(*table, options.table)) continue;
    faults.front().fix = fmt::format("it is a row: orrery catalog {} {}", title.id, options.table);
    break;
  }
  return faults;
}

Diagnostics unknown_row(const std::string& name, const CsvTable& table, const std::string& id) {
  const auto close = nearest(id, catalog::row_ids(table));
  return {{.code = "catalog.row",
           .place = {},
           .what = fmt::format("no row '{}' in {}", id, name),
           .why = {},
           .fix = close ? fmt::format("did you mean '{}'?", *close)
                        : fmt::format("`orrery catalog {}` lists them", name)}};
}

ExitCode run_catalog(const CatalogOptions& options, Terminal& terminal) {
  const auto knowledge = shipped_knowledge();
  if (!knowledge) return refuse(terminal, knowledge.error());
  if (options.table.empty()) return list_tables(options, *knowledge, terminal);
  const auto table = catalog_table(*knowledge, options.table);
  if (!table) return refuse(terminal, unknown_table(options, *knowledge, table.error()));
  std::string name = lowered(options.table);
  std::ranges::replace(name, '-', '_');
  const CsvRow* row = nullptr;
  if (!options.id.empty()) {
    row = catalog::row_by_id(*table, options.id);
    if (!row) return refuse(terminal, unknown_row(name, *table, options.id));
  }
  if (options.format == Format::json) {
    print_json(terminal, name, *table, row);
  } else if (options.format == Format::csv) {
    print_csv(terminal, *table, row);
  } else {
    print(terminal, row ? page_of_row(name, *table, *row) : list_of_rows(name, *table),
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
            arguments.optional_positional("TABLE", options->table, "a table; all when left out");
            arguments.optional_positional("ID", options->id, "a row of it, by id or alias");
            arguments.format(options->format,
                             {Format::text, Format::json, Format::csv, Format::markdown});
            return [options](Terminal& terminal) { return run_catalog(*options, terminal); };
          }};
}

}  // namespace orrery::cli
