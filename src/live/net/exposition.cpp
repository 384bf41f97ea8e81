#include "live/net/exposition.h"

#include "core/base/text.h"

namespace orrery::net {
namespace {

// Quotes are escaped only in labels.
std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || (c == '"' && quotes)) out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string series_text(std::string_view name, const MetricLabels& labels) {
  std::string out(name);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out += i == 0 ? '{' : ',';
    out += labels[i].first + "=\"" + escaped(labels[i].second, true) + '"';
  }
  return labels.empty() ? out : out + '}';
}

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + ' ' + escaped(help, false) + "\n# TYPE " + name_ + ' ';
  text_ += type;
  text_ += '\n';
}

void Exposition::sample(const MetricLabels& labels, double value, std::string_view suffix) {
  line(series_text(name_ + std::string(suffix), labels), value);
}

void Exposition::line(std::string_view series, double value) {
  text_ += series;
  text_ += ' ' + shortest(value) + '\n';
}

void Exposition::single(std::string_view name, std::string_view type, std::string_view help,
                        double value) {
  family(name, type, help);
  sample({}, value);
}

}  // namespace orrery::net
