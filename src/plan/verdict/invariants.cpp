#include "plan/verdict/invariants.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/base/text.h"
#include "core/base/units.h"

namespace orrery::verdict {
namespace {

// Slack for rounding in an equality.
constexpr double kSlack = 1e-6;
// Significant digits allowed in an edit's amount: 1.25 is round, 595.3125 is not.
constexpr int kRoundDigits = 3;

bool above(double value, double bound) { return value > bound * (1 + kSlack) + 1e-12; }

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '/' || c == '.';
}

// Returns true for words that no reader should see: infinities, and numbers written as powers of
// ten.
bool is_unreadable(std::string_view word) {
  if (word == "inf" || word == "nan" || word == "-inf" || word == "-nan" || word == "inf%")
    return true;
  const auto e = word.find('e');
  if (e == std::string_view::npos || e == 0 || e + 1 >= word.size()) return false;
  const bool mantissa =
      word.substr(0, e).find_first_not_of("-0123456789.") == std::string_view::npos;
  const bool exponent =
      word.substr(e + 1).find_first_not_of("+-0123456789") == std::string_view::npos;
  return mantissa && exponent;
}

class Check {
 public:
  Check(const review::Review& review, const Verdict& verdict) : r_(review), v_(verdict) {}

  std::vector<std::string> run() {
    for (const figures::Section& s : v_.sections) section(s);
    for (const figures::GoalOutcome& g : v_.goals) estimate(g.actual, "goal " + g.text);
    for (const rules::Spend& s : v_.spends) spend(s);
    for (const rules::Finding& f : v_.findings) finding(f);
    for (const review::SiteView& s : r_.sites) site(s);
    for (const machine::Networks& n : r_.machine->networks) endpoints(n);
    for (const review::TrainView& t : r_.trains) train(t);
    for (const review::ServeView& s : r_.serves) serve(s);
    money();
    text(v_.summary, "the summary");
    return std::move(broken_);
  }

 private:
  template <class... Args>
  void broken(fmt::format_string<Args...> format, Args&&... args) {
    broken_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void estimate(const Estimate& e, const std::string& where) {
    if (!std::isfinite(e.value) || !std::isfinite(e.low) || !std::isfinite(e.high)) {
      broken("{} is not finite: {} [{}, {}]", where, e.value, e.low, e.high);
    } else if (above(e.low, e.value) || above(e.value, e.high)) {
      broken("{} is outside its interval: {} [{}, {}]", where, e.value, e.low, e.high);
    }
  }

  void text(std::string_view all, const std::string& where) {
    for (std::size_t at = 0; at < all.size();) {
      std::size_t end = at;
      while (end < all.size() && (is_word_char(all[end]) || all[end] == '+')) ++end;
      if (end > at && is_unreadable(all.substr(at, end - at))) {
        broken("{} says '{}': {}", where, all.substr(at, end - at), all);
      }
      at = std::max(end, at + 1);
    }
  }

  void section(const figures::Section& s) {
    text(s.summary, s.name);
    text(s.limit, s.name);
    for (const figures::Figure& f : s.figures) {
      const std::string where = s.name + " " + f.id();
      estimate(f.estimate, where);
      if (f.unit() == figures::Unit::ratio && f.estimate.value < -kSlack) {
        broken("{} is a negative share", where);
      }
      text(show(f.estimate.value, f.unit()), where);
      text(show_interval(f.estimate, f.unit()), where);
      text(f.formula, where);
      for (const figures::Input& i : f.inputs) text(i.value, where + " " + i.name);
    }
  }

  void spend(const rules::Spend& s) {
    for (const double value : {s.cost_usd_per_year, s.goodput_before, s.goodput_after,
                               s.unit_cost_before_usd, s.unit_cost_after_usd}) {
      if (!std::isfinite(value)) broken("the spend '{}' is not finite", s.what);
    }
    if (s.change.path.empty()) broken("the spend '{}' changes nothing", s.what);
    loosens(s.change, "the spend '" + s.what + "'");
  }

  void finding(const rules::Finding& f) {
    text(f.what, f.rule);
    text(f.why, f.rule);
    text(f.fix, f.rule);
    if (f.what.empty() || f.why.empty() || f.fix.empty()) {
      broken("{} does not say what is wrong, why, and how to cure it", f.rule);
    }
    if (!f.edit) return;
    loosens(*f.edit, f.rule);
    const auto amount = parse_any_quantity(f.edit->value);
    if (amount && !is_round(f.edit->value)) {
      broken("{} writes {} = {}, which is not a round number", f.rule, f.edit->path, f.edit->value);
    }
    if (says_number(f.edit->value) && f.fix.find(f.edit->value) == std::string::npos &&
        f.fix.find(grouped_text(f.edit->value)) == std::string::npos) {
      broken("{} writes {} = {}, and its text says: {}", f.rule, f.edit->path, f.edit->value,
             f.fix);
    }
  }

  static bool says_number(std::string_view value) {
    return parse_integer(value).has_value() || parse_any_quantity(value).has_value();
  }
  static std::string grouped_text(std::string_view value) {
    const auto whole = parse_integer(value);
    return whole ? grouped(*whole) : std::string(value);
  }
  static bool is_round(std::string_view value) {
    std::size_t digits = 0;
    bool leading = true;
    for (const char c : value) {
      if (c == ' ') break;
      if (c < '0' || c > '9') continue;
      leading = leading && c == '0';
      digits += leading ? 0 : 1;
    }
    return digits <= kRoundDigits;
  }

  // Requirements are the author's to change, so no edit may loosen them.
  void loosens(const design_text::Change& edit, const std::string& where) {
    constexpr std::array<std::string_view, 9> kAsked = {
        ".deadline", ".window",       ".ttft_p99",  ".tpot_p99", ".latency_p99",
        ".tokens",   ".availability", ".residency", ".samples"};
    const bool asked =
        std::ranges::any_of(kAsked, [&](std::string_view end) { return edit.path.ends_with(end); });
    if (asked || edit.path.starts_with("goals")) {
      broken("{} would change a requirement: {} = {}", where, edit.path, edit.value);
    }
  }

  void site(const review::SiteView& s) {
    for (const review::FleetPower& p : s.fleets) {
      const double nameplate = p.node.nameplate.base();
      const std::string& name = p.fleet->fleet->name;
      if (above(p.node.peak.base(), nameplate)) broken("{} peaks above its nameplate", name);
      if (above(p.mean.base(), nameplate)) broken("{} draws more than its nameplate", name);
      const int nodes = p.fleet->fleet->count + p.fleet->fleet->spares;
      if (p.swing && above(p.swing->amplitude.base(), nameplate * nodes)) {
        broken("{} swings by more than its nameplate", name);
      }
      double shares = 0;
      for (const catalog::PowerPhase& phase : p.phases) shares += phase.share;
      if (!p.phases.empty() && std::fabs(shares - 1) > kSlack) {
        broken("the phases of {} add up to {}", name, shares);
      }
    }
    if (above(s.it_mean.base(), s.it_nameplate.base())) {
      broken("site {} draws more than its nameplate", s.site->name);
    }
    if (s.has_machines() && !(s.pue.middle >= 1)) {
      broken("site {} has a PUE of {}", s.site->name, s.pue.middle);
    }
  }

  void endpoints(const machine::Networks& n) {
    if (!n.compute.topology) return;
    const fabric::Topology& t = *n.compute.topology;
    const std::int64_t connected = t.endpoints / t.spec.planes;
    const bool said = std::ranges::any_of(
        v_.findings, [](const rules::Finding& f) { return f.rule == "fabric.endpoints"; });
    if (connected < n.compute.nic_ports && !said) {
      broken("{} endpoints for {} NICs, without a finding", connected, n.compute.nic_ports);
    }
  }

  void share(double value, const std::string& what) {
    if (!(value >= -kSlack) || value > 1 + kSlack) broken("{} is {}", what, value);
  }

  void train(const review::TrainView& t) {
    if (!t.feasible()) return;
    share(t.goodput, "the goodput of " + t.label);
    share(t.efficiency, "the efficiency of " + t.label);
    share(t.contention, "the contention of " + t.label);
    share(t.failure.shortfall, "the shortfall of " + t.label);
    if (t.feed.known) share(t.feed.loader.utilisation, "the loader's use of " + t.label);
    if (t.accelerators > t.fleet->accelerators) {
      broken("{} runs on {} accelerators of {}", t.label, t.accelerators, t.fleet->accelerators);
    }
  }

  void serve(const review::ServeView& s) {
    if (!s.feasible()) return;
    share(s.availability, "the availability of " + s.label);
    if (s.ttft > s.ttft_p99 * (1 + kSlack)) broken("{}: the mean is above p99", s.label);
  }

  void money() {
    const review::CostView& c = r_.cost;
    Usd sum = (c.owned ? c.owned->annual : Usd(0)) + c.egress_per_year + c.wan_per_year;
    for (const review::RentedFleet& f : c.rented) sum += f.per_year;
    for (const review::TierRent& t : c.tier_rents) sum += t.total();
    if (std::fabs((sum - c.annual).base()) > kSlack * std::fabs(sum.base()) + 1e-9) {
      broken("the yearly cost is not the sum of its items");
    }
    for (const catalog::BillLine& line : c.bill.lines) {
      if (!std::isfinite(line.count) || line.count < 0) {
        broken("{} of {} are bought", line.count, line.item);
      }
    }
  }

  const review::Review& r_;
  const Verdict& v_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_invariants(const review::Review& review, const Verdict& verdict) {
  return Check(review, verdict).run();
}

}  // namespace orrery::verdict
