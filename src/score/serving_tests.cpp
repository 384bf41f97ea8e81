#include "score/serving_tests.h"

#include <algorithm>

#include "base/text.h"

namespace orrery::score {
namespace {

TestRole role_of(const CsvTable& t, const CsvRow& line, const std::string& role) {
  const auto whole = [&](const char* name) {
    return static_cast<int>(t.integer(line, role + name).value_or(1));
  };
  return {.replicas = static_cast<double>(whole("replicas")),
          .devices = whole("devices"),
          .ep = whole("ep"),
          .by_rank = t.text(line, role + "dp") == "1"};
}

bool has_clients(std::string_view tried, double clients) {
  while (!tried.empty()) {
    const auto space = std::min(tried.find(' '), tried.size());
    const auto number = parse_number(tried.substr(0, space));
    if (number && *number == clients) return true;
    tried.remove_prefix(std::min(space + 1, tried.size()));
  }
  return false;
}

bool is_same_test(const CsvTable& t, const CsvRow& line, const TestAsk& ask) {
  return t.text(line, "accelerator") == ask.accelerator && t.text(line, "engine") == ask.engine &&
         t.text(line, "precision") == ask.precision &&
         ask.model.find(t.text(line, "model")) != std::string_view::npos &&
         t.number(line, "isl") == ask.input && t.number(line, "osl") == ask.output &&
         has_clients(t.text(line, "clients"), ask.clients);
}

bool has_layout(const TestRole& prefill, const TestRole& decode, const TestAsk& ask) {
  const double all = prefill.replicas * prefill.devices + decode.replicas * decode.devices;
  if (ask.prefill_devices == ask.decode_devices && ask.prefill_devices == all) return true;
  const auto fits = [](const TestRole& role, int devices) {
    return role.devices == devices || role.devices * role.replicas == devices;
  };
  return fits(prefill, ask.prefill_devices) && fits(decode, ask.decode_devices) &&
         prefill.ep == ask.prefill_ep;
}

}  // namespace

std::vector<TestSetting> settings_for(const CsvTable& tests, const TestAsk& ask) {
  std::vector<TestSetting> any;
  std::vector<TestSetting> same_release;
  for (const CsvRow& line : tests.rows()) {
    if (!is_same_test(tests, line, ask)) continue;
    const TestSetting s{.prefill = role_of(tests, line, "prefill_"),
                        .decode = role_of(tests, line, "decode_"),
                        .guesses = static_cast<int>(tests.integer(line, "guesses").value_or(0))};
    if (!has_layout(s.prefill, s.decode, ask)) continue;
    const bool here = !ask.release.empty() && tests.text(line, "release") == ask.release;
    if (std::ranges::find(any, s) == any.end()) any.push_back(s);
    if (here && std::ranges::find(same_release, s) == same_release.end()) {
      same_release.push_back(s);
    }
  }
  std::vector<TestSetting> fitting = same_release.empty() ? std::move(any) : same_release;
  std::ranges::stable_sort(fitting, {}, &TestSetting::guesses);
  return fitting;
}

}  // namespace orrery::score
