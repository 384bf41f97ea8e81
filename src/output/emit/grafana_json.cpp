#include "output/emit/grafana_json.h"

#include <fmt/core.h>

#include "core/base/digest.h"
#include "core/base/json_writer.h"
#include "output/emit/alerts.h"
#include "output/emit/stamp.h"

namespace orrery::emit {
namespace {

constexpr int kSchemaVersion = 39;
// Width of a panel. Grafana's grid is 24 wide, and three panels per line read well on a laptop.
constexpr int kPanelWidth = 8;
constexpr int kPanelHeight = 8;
constexpr int kGridWidth = 24;
constexpr std::size_t kTitleMax = 120;

std::string short_title(const std::string& title) {
  std::size_t cut = std::min(title.size(), kTitleMax);
  // Do not cut within a character of several bytes.
  while (cut > 0 && cut < title.size() && (static_cast<unsigned char>(title[cut]) & 0xc0) == 0x80) {
    --cut;
  }
  return title.substr(0, cut);
}

void write_source(JsonWriter& w) {
  w.key("datasource").begin_object();
  w.field("type", "prometheus").field("uid", "${datasource}").end_object();
}

void write_target(JsonWriter& w, int& letter, const std::string& expr, const std::string& legend) {
  w.begin_object();
  write_source(w);
  w.field("refId", fmt::format("Q{}", letter++)).field("expr", expr);
  w.field("legendFormat", legend).end_object();
}

bool has_band(const PlanLine& line) { return line.estimate.low < line.estimate.high; }

void write_targets(JsonWriter& w, const Panel& p) {
  int letter = 1;
  w.key("targets").begin_array();
  for (const PanelQuery& q : p.measured) write_target(w, letter, q.expr, q.legend);
  for (const PlanLine& line : p.plan) {
    const Estimate& e = line.estimate;
    write_target(w, letter, fmt::format("vector({})", promql_number(e.value)), line.name);
    if (!has_band(line)) continue;
    write_target(w, letter, fmt::format("vector({})", promql_number(e.low)), line.name + " low");
    write_target(w, letter, fmt::format("vector({})", promql_number(e.high)), line.name + " high");
  }
  w.end_array();
}

void write_override(JsonWriter& w, const std::string& series,
                    const std::vector<std::pair<std::string, std::string>>& properties) {
  w.begin_object().key("matcher").begin_object();
  w.field("id", "byName").field("options", series).end_object();
  w.key("properties").begin_array();
  for (const auto& [id, value] : properties) {
    w.begin_object().field("id", id).key("value");
    if (id == "custom.lineStyle") {
      w.begin_object().field("fill", "dash").end_object();
    } else if (id == "custom.lineWidth") {
      w.value(0);
    } else {
      w.value(value);
    }
    w.end_object();
  }
  w.end_array().end_object();
}

// Writes a dashed line for the plan, with the range from its low to its high shaded.
void write_field_config(JsonWriter& w, const Panel& p) {
  w.key("fieldConfig").begin_object();
  w.key("defaults").begin_object().field("unit", p.unit).end_object();
  w.key("overrides").begin_array();
  if (p.type == "timeseries") {
    for (const PlanLine& line : p.plan) {
      write_override(w, line.name, {{"custom.lineStyle", ""}});
      if (!has_band(line)) continue;
      write_override(w, line.name + " low", {{"custom.lineWidth", ""}});
      write_override(w, line.name + " high",
                     {{"custom.lineWidth", ""}, {"custom.fillBelowTo", line.name + " low"}});
    }
  }
  w.end_array().end_object();
}

struct Cell {
  int id = 1;
  int x = 0;
  int y = 0;
};

void write_place(JsonWriter& w, const Cell& cell, int width, int height) {
  w.key("gridPos").begin_object();
  w.field("h", height).field("w", width).field("x", cell.x).field("y", cell.y).end_object();
}

void write_row(JsonWriter& w, const Cell& cell, const std::string& title) {
  w.begin_object().field("id", cell.id).field("type", "row").field("title", title);
  w.field("collapsed", false);
  write_place(w, cell, kGridWidth, 1);
  w.key("panels").begin_array().end_array().end_object();
}

void write_panel(JsonWriter& w, const Cell& cell, const Panel& p) {
  w.begin_object().field("id", cell.id).field("type", p.type).field("title", short_title(p.title));
  w.field("description", p.help);
  write_source(w);
  write_place(w, cell, kPanelWidth, kPanelHeight);
  write_targets(w, p);
  write_field_config(w, p);
  w.end_object();
}

void write_panels(JsonWriter& w, const std::vector<Panel>& panels) {
  Cell cell;
  std::string row;
  w.key("panels").begin_array();
  for (const Panel& p : panels) {
    const bool new_row = p.row != row;
    if (new_row || cell.x + kPanelWidth > kGridWidth) {
      if (cell.id > 1) cell.y += kPanelHeight;
      cell.x = 0;
    }
    if (new_row) {
      row = p.row;
      write_row(w, cell, row);
      ++cell.id;
      ++cell.y;
    }
    write_panel(w, cell, p);
    ++cell.id;
    cell.x += kPanelWidth;
  }
  w.end_array();
}

void write_templating(JsonWriter& w) {
  w.key("templating").begin_object().key("list").begin_array().begin_object();
  w.field("name", "datasource").field("type", "datasource").field("query", "prometheus");
  w.field("label", "Prometheus").end_object().end_array().end_object();
}

}  // namespace

std::string dashboard_json(const std::vector<Panel>& panels, const EmitSource& source) {
  JsonWriter w;
  // The id does not change with the design's contents, so that bookmarks keep working.
  w.begin_object().field("uid", "orrery-" + sha256_hex(source.design).substr(0, 12));
  w.field("title", short_title(source.design) + ": plan and actual");
  w.field("description", stamp_text(source));
  w.key("tags").begin_array().value("orrery").end_array();
  w.field("schemaVersion", kSchemaVersion).field("version", 1).field("editable", true);
  w.field("refresh", "1m").field("timezone", "browser");
  w.key("time").begin_object().field("from", "now-24h").field("to", "now").end_object();
  write_templating(w);
  write_panels(w, panels);
  w.end_object();
  return w.text() + "\n";
}

}  // namespace orrery::emit
