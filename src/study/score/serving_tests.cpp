#include "study/score/serving_tests.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/text.h"

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
         t.number(line, "isl") == ask.input && t.number(line, "osl") == ask.output;
}

bool has_layout(const TestRole& prefill, const TestRole& decode, const TestAsk& ask) {
  const auto counted = [](const TestRole& role, double replicas) {
    return replicas == 0 || replicas == role.replicas;
  };
  if (!counted(prefill, ask.prefill_replicas) || !counted(decode, ask.decode_replicas)) {
    return false;
  }
  const double all = prefill.replicas * prefill.devices + decode.replicas * decode.devices;
  if (ask.prefill_devices == ask.decode_devices && ask.prefill_devices == all) return true;
  const auto fits = [](const TestRole& role, int devices) {
    return devices == 1 || role.devices == devices || role.devices * role.replicas == devices;
  };
  return fits(prefill, ask.prefill_devices) && fits(decode, ask.decode_devices) &&
         (ask.prefill_ep == 1 || prefill.ep == ask.prefill_ep);
}

bool was_set(const CsvTable& t, const CsvRow& line, std::string_view day) {
  const std::string_view until = t.text(line, "until");
  return t.text(line, "since") <= day && (until.empty() || day < until);
}

void add_once(std::vector<TestSetting>& settings, const TestSetting& s) {
  if (std::ranges::find(settings, s) == settings.end()) settings.push_back(s);
}

// Returns the settings of the row's day, if there are any; if a layout was not tried with the row's
// clients, its settings with other clients.
std::vector<TestSetting> fitting(const CsvTable& tests, const TestAsk& ask) {
  std::vector<TestSetting> other_clients;
  std::vector<TestSetting> any;
  std::vector<TestSetting> of_day;
  for (const CsvRow& line : tests.rows()) {
    if (!is_same_test(tests, line, ask)) continue;
    const TestSetting s{.prefill = role_of(tests, line, "prefill_"),
                        .decode = role_of(tests, line, "decode_"),
                        .guesses = static_cast<int>(tests.integer(line, "guesses").value_or(0)),
                        .decode_batch = tests.number(line, "decode_batch").value_or(0),
                        .set = std::string(tests.text(line, "set"))};
    if (!has_layout(s.prefill, s.decode, ask)) continue;
    if (!has_clients(tests.text(line, "clients"), ask.clients)) {
      add_once(other_clients, s);
      continue;
    }
    add_once(any, s);
    if (!ask.day.empty() && was_set(tests, line, ask.day)) add_once(of_day, s);
  }
  if (any.empty() && ask.decode_devices > 1) return other_clients;
  return of_day.empty() ? any : of_day;
}

using Fitting = std::vector<std::vector<TestSetting>>;

template <class Keep>
void keep_some(std::vector<TestSetting>& settings, Keep keep) {
  std::vector<TestSetting> kept;
  std::ranges::copy_if(settings, std::back_inserter(kept), keep);
  if (!kept.empty()) settings = std::move(kept);
}

void settle_runs(const std::vector<TestAsk>& asks, Fitting& found) {
  using Run = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  std::map<Run, std::map<std::string, int>> fits;
  const auto run_of = [](const TestAsk& a) {
    return Run{a.run, a.accelerator, a.engine, a.precision};
  };
  for (std::size_t i = 0; i < asks.size(); ++i) {
    std::map<std::string, int> sets;
    for (const TestSetting& s : found[i]) sets[s.set] = 1;
    for (const auto& [set, one] : sets) fits[run_of(asks[i])][set] += one;
  }
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const std::map<std::string, int>& sets = fits[run_of(asks[i])];
    int most = 0;
    for (const auto& [set, rows] : sets) most = std::max(most, rows);
    keep_some(found[i], [&](const TestSetting& s) { return sets.at(s.set) == most; });
  }
}

bool is_same_sweep(const TestAsk& a, const TestAsk& b) {
  return a.accelerator == b.accelerator && a.engine == b.engine && a.model == b.model &&
         a.precision == b.precision && a.run == b.run && a.input == b.input &&
         a.output == b.output && a.prefill_replicas == b.prefill_replicas &&
         a.decode_replicas == b.decode_replicas && a.prefill_devices == b.prefill_devices &&
         a.prefill_ep == b.prefill_ep && a.decode_devices == b.decode_devices;
}

void settle_sweep(Fitting& found, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return;
  std::vector<TestSetting> common = found[begin];
  for (std::size_t i = begin + 1; i < end; ++i) {
    std::erase_if(common, [&](const TestSetting& s) {
      return std::ranges::find(found[i], s) == found[i].end();
    });
  }
  if (common.empty()) return;
  for (std::size_t i = begin; i < end; ++i) found[i] = common;
}

}  // namespace

std::vector<std::size_t> ends_of_sweeps(const std::vector<TestAsk>& asks) {
  std::vector<std::size_t> ends;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= asks.size(); ++i) {
    const auto tried = [&](double clients) {
      return std::any_of(asks.begin() + static_cast<std::ptrdiff_t>(begin),
                         asks.begin() + static_cast<std::ptrdiff_t>(i),
                         [clients](const TestAsk& a) { return a.clients == clients; });
    };
    if (i < asks.size() && is_same_sweep(asks[begin], asks[i]) && !tried(asks[i].clients)) continue;
    ends.push_back(i);
    begin = i;
  }
  return ends;
}

std::vector<std::vector<TestSetting>> settings_for(const CsvTable& tests,
                                                   const std::vector<TestAsk>& asks) {
  Fitting found;
  for (const TestAsk& ask : asks) found.push_back(fitting(tests, ask));
  settle_runs(asks, found);
  std::size_t begin = 0;
  for (const std::size_t end : ends_of_sweeps(asks)) {
    settle_sweep(found, begin, end);
    begin = end;
  }
  for (std::vector<TestSetting>& f : found) {
    std::ranges::stable_sort(f, {}, &TestSetting::guesses);
  }
  return found;
}

}  // namespace orrery::score
