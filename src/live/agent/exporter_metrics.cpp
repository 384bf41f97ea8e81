#include "live/agent/exporter_metrics.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "core/catalog/embedded_table.h"
#include "live/net/exposition.h"

namespace orrery::agent {
namespace {

constexpr const char* kMetricTable = "emit/prometheus/metrics.csv";
// A line of a node file has a name and a few labels; more is a mistake.
constexpr std::size_t kLineMax = 8192;
constexpr std::size_t kLabelsMax = 16;

// Returns a series as text with its labels sorted, so that their order does not matter.
std::string series_of(std::string_view name, const MetricSample& sample) {
  auto labels = sample.labels;
  std::ranges::sort(labels);
  return net::series_text(name, labels);
}

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

// One line that is read from front to back.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(trimmed(line)) {}

  std::optional<std::string> name() {
    std::size_t end = 0;
    while (end < rest_.size() && (end == 0 ? is_name_start : is_name_char)(rest_[end])) ++end;
    if (end == 0) return std::nullopt;
    std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return found;
  }

  bool eat(char c) {
    rest_ = trimmed(rest_);
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    rest_ = trimmed(rest_);
    return true;
  }

  std::optional<std::string> quoted() {
    if (!eat_quote()) return std::nullopt;
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\') {
        if (rest_.empty()) return std::nullopt;
        c = rest_.front() == 'n' ? '\n' : rest_.front();
        rest_.remove_prefix(1);
      }
      out += c;
    }
    return eat_quote() ? std::optional(out) : std::nullopt;
  }

  std::optional<double> value() { return parse_number(trimmed(rest_)); }

 private:
  bool eat_quote() {
    if (rest_.empty() || rest_.front() != '"') return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

struct ParsedLine {
  std::string name;
  MetricSample sample;
};

bool read_labels(LineReader& in, MetricSample& sample) {
  if (!in.eat('{')) return true;
  std::set<std::string> seen;
  while (!in.eat('}')) {
    if (!seen.empty() && !in.eat(',')) return false;
    if (!seen.empty() && in.eat('}')) return true;  // a comma may precede the closing brace
    const auto name = in.name();
    if (!name || name->starts_with("__") || !in.eat('=')) return false;
    const auto value = in.quoted();
    if (!value || !seen.insert(*name).second || seen.size() > kLabelsMax) return false;
    sample.labels.emplace_back(*name, *value);
  }
  return true;
}

std::optional<ParsedLine> parse_line(std::string_view text) {
  if (text.size() > kLineMax || !is_valid_utf8(text)) return std::nullopt;
  LineReader in(text);
  const auto name = in.name();
  ParsedLine line;
  if (!name || !read_labels(in, line.sample)) return std::nullopt;
  const auto value = in.value();
  if (!value) return std::nullopt;
  line.name = *name;
  line.sample.value = *value;
  return line;
}

Diagnostic fault(const std::string& file, int line, std::string what, std::string fix) {
  return {.severity = Severity::warning,
          .code = "exporter.line",
          .place = {.file = file, .line = line, .column = 1},
          .what = std::move(what),
          .why = "this line is left out; the rest of the file is used",
          .fix = std::move(fix)};
}

}  // namespace

std::string exposition(MetricFamilies families) {
  std::ranges::stable_sort(families, {}, &MetricFamily::name);
  net::Exposition out;
  std::string_view last;
  std::set<std::string> written;
  for (const MetricFamily& f : families) {
    if (f.samples.empty()) continue;
    if (f.name != last) out.family(f.name, f.type, f.help);
    last = f.name;
    std::map<std::string, double> lines;
    for (const MetricSample& s : f.samples) lines.emplace(series_of(f.name, s), s.value);
    for (const auto& [series, value] : lines) {
      if (written.insert(series).second) out.line(series, value);
    }
  }
  return out.text();
}

ParsedMetrics parse_metrics(std::string_view text, const std::string& file,
                            const MetricFamilies& known) {
  ParsedMetrics parsed;
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    auto found = parse_line(line);
    if (!found) {
      parsed.faults.push_back(fault(file, number,
                                    "this line is not in the Prometheus exposition format",
                                    "write: name{label=\"value\"} 1.5"));
      continue;
    }
    const auto family = std::ranges::find(known, found->name, &MetricFamily::name);
    if (family == known.end()) {
      parsed.faults.push_back(fault(file, number, "a node file may not provide this metric",
                                    "docs/guide/observe.md lists the metrics that it may provide"));
      continue;
    }
    auto mine = std::ranges::find(parsed.families, found->name, &MetricFamily::name);
    if (mine == parsed.families.end()) mine = parsed.families.insert(mine, *family);
    mine->samples.push_back(std::move(found->sample));
  }
  return parsed;
}

Result<MetricFamilies> metrics_from(std::string_view origin) {
  const auto table = catalog::embedded_table(kMetricTable);
  if (!table) return std::unexpected(table.error());
  MetricFamilies families;
  for (const CsvRow& row : table->rows()) {
    if (table->text(row, "origin") != origin) continue;
    families.push_back({.name = std::string(table->text(row, "metric")),
                        .type = std::string(table->text(row, "type")),
                        .help = std::string(table->text(row, "help")),
                        .samples = {}});
  }
  return families;
}

}  // namespace orrery::agent
