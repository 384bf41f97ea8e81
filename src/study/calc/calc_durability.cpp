// How likely data is to survive a year on drives that fail: the question and its parameters.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "layers/storage/drive_lives.h"
#include "layers/storage/durability.h"
#include "model/figures/assumptions.h"
#include "study/calc/calc_values.h"
#include "study/calc/parameters.h"

namespace orrery::calc {
namespace {

constexpr const char* kDurabilityPage = "docs/models/durability.md";
using figures::assumptions::kFailureSpread;
using figures::assumptions::kRebuildSpread;
// Losses that the simulation waits for, and the most failures that this may take.
constexpr int kLossesLived = 400;
constexpr double kFailuresLived = 1e6;

struct DurabilityAsked {
  int data = 8;
  int parity = 2;
  double failures = 0.01;  // per drive and year
  Bytes drive;
  BytesPerSecond rate;
  double share = 0.2;
  int drives = 1;
  int servers = 1;
  double server_losses = 0;
  Bytes object;
};

storage::DurabilityQuestion question_of(const DurabilityAsked& a, double failures, double rebuild) {
  const int shards = a.data + a.parity;
  const Seconds time = storage::rebuild_time({.bytes = a.drive,
                                              .drive = a.rate,
                                              .drives = std::max(1, std::min(a.drives, 10'000)),
                                              .share = a.share});
  const double a_second = 1 / years(1).base();
  return {.shards = shards,
          .losses = a.parity,
          .drive_failures = PerSecond(a.failures * a_second * failures),
          .rebuild = time * rebuild,
          .server_losses = PerSecond(a.server_losses * a_second * failures),
          .shards_on_server = (shards + a.servers - 1) / a.servers,
          .rebuild_reads = a.object};
}

// If losses are frequent enough, simulates them as well, to check the Markov chain's figure.
void add_lived(Calculation& c, const storage::DurabilityQuestion& q,
               const storage::Durability& chain) {
  const double failures = chain.mean_time_to_loss * q.drive_failures * q.shards;
  if (failures * kLossesLived > kFailuresLived) return;
  const storage::DriveOutcome lived =
      storage::live_through({.group = q, .rebuilds_alike = true, .losses = kLossesLived});
  if (!lived.is_whole) return;
  c.figures.push_back(
      {.id = "lived_time_to_loss",
       .label = "mean time to a loss, simulated drive by drive",
       .unit = figures::Unit::seconds,
       .estimate =
           within(lived.mean_time_to_loss.base(), 0.1, 0.1, Basis::derived, kDurabilityPage),
       .formula = fmt::format("{} losses of a group, {} failures; the Markov chain gives {}",
                              lived.losses, grouped(static_cast<std::int64_t>(lived.failures)),
                              brief(chain.mean_time_to_loss))});
}

Calculation calc_durability(const DurabilityAsked& a) {
  const storage::DurabilityQuestion q = question_of(a, 1, 1);
  const storage::Durability mean = durability_of(q);
  const storage::Durability worse = durability_of(question_of(a, kFailureSpread, kRebuildSpread));
  const storage::Durability better =
      durability_of(question_of(a, 1 / kFailureSpread, 1 / kRebuildSpread));
  const std::string code = a.data == 1 ? fmt::format("{} copies", a.parity + 1)
                                       : fmt::format("{} + {}", a.data, a.parity);
  Calculation c{.question = fmt::format("How likely does data with {} survive a year?", code)};
  c.answer = fmt::format("{} nines: an object is lost with a probability of {} per year.",
                         significant(mean.nines, 3), significant(mean.loss_a_year, 2));
  const auto between = [](double value, double low, double high) {
    return Estimate{.value = value,
                    .low = std::min(low, high),
                    .high = std::max(low, high),
                    .basis = Basis::derived,
                    .reference = kDurabilityPage};
  };
  c.figures.push_back(
      {.id = "nines",
       .label = "durability, nines per year",
       .unit = figures::Unit::count,
       .estimate = between(mean.nines, worse.nines, better.nines),
       .formula = fmt::format("-log10(1 - exp(-1 y / {}))", brief(mean.mean_time_to_loss))});
  c.figures.push_back(
      {.id = "rebuild",
       .label = "time to rebuild a drive",
       .unit = figures::Unit::seconds,
       .estimate = between(q.rebuild.base(), q.rebuild.base() / kRebuildSpread,
                           q.rebuild.base() * kRebuildSpread),
       .formula = fmt::format("10 min to notice + {} / ({} x {} x {}) = {}", brief(a.drive),
                              brief(a.rate), significant(a.share, 3), a.drives, brief(q.rebuild))});
  c.figures.push_back(
      {.id = "overhead",
       .label = "raw bytes per byte stored",
       .unit = figures::Unit::factor,
       .estimate = exact(static_cast<double>(q.shards) / a.data, Basis::derived, kDurabilityPage),
       .formula = fmt::format("{} / {}", q.shards, a.data)});
  add_lived(c, q, mean);
  c.assumptions = {
      fmt::format("{} % of drives fail per year; fleets of one model are between 0.3 and 3 %",
                  significant(a.failures * 100, 3)),
      fmt::format("at most {} of a group's {} shards on one of {} servers", q.shards_on_server,
                  q.shards, a.servers),
      "failures are independent: bad batches, firmware, fire and human error are left out, and "
      "beyond ten nines they cause most losses"};
  if (q.shards_on_server > a.parity) {
    c.assumptions.push_back(
        "one lost server takes more shards than the code survives; spread the group over more "
        "servers");
  }
  return c;
}

Result<Calculation> ask_durability(CalcValues& v, const machine::Models&) {
  DurabilityAsked a{.data = v.whole("data"), .parity = v.whole("parity")};
  a.failures = v.share("failures");
  a.drive = v.quantity<Bytes>("drive");
  a.rate = v.quantity<BytesPerSecond>("rate");
  a.share = v.share("share");
  a.drives = v.whole("drives");
  a.servers = v.whole("servers");
  a.server_losses = v.share("server-losses");
  a.object = v.quantity<Bytes>("object");
  if (!v.faults().empty()) return Calculation{};  // the caller reports the faults
  const bool fits = a.data >= 1 && a.parity >= 1 && a.data + a.parity <= 255 && a.servers >= 1 &&
                    a.drives >= 1 && a.share > 0 && a.failures > 0;
  if (!fits) {
    return fail({.code = "calc.durability",
                 .what =
                     "a code has at least one data and one parity shard and at most 255 in all; "
                     "failures and the share are above zero"});
  }
  return calc_durability(a);
}

std::vector<CalcParameter> durability_parameters() {
  using enum ParameterKind;
  return {whole_parameter("data", "data shards; 1 for copies", "8", 32),
          whole_parameter("parity", "parity shards, or copies beyond the first", "2", 8),
          {.name = "failures",
           .label = "share of drives that fail per year",
           .kind = number,
           .preset = "0.01",
           .shown = "X",
           .low = 0.001,
           .high = 0.1,
           .log = true},
          {.name = "drive",
           .label = "capacity per drive",
           .kind = quantity,
           .preset = "20 TB",
           .shown = "SIZE",
           .unit = "TB",
           .low = 1,
           .high = 250,
           .log = true},
          {.name = "rate",
           .label = "write rate per drive",
           .kind = quantity,
           .preset = "250 MB/s",
           .shown = "RATE",
           .unit = "MB/s",
           .low = 50,
           .high = 10000,
           .log = true},
          {.name = "share",
           .label = "share of a drive's rate that a rebuild may use",
           .kind = number,
           .preset = "0.2",
           .shown = "X",
           .low = 0.05,
           .high = 1},
          whole_parameter("drives", "drives that take part in a rebuild", "1", 1000),
          whole_parameter("servers", "servers that hold the shards of one group", "10", 40),
          {.name = "server-losses",
           .label = "share of servers lost with all their drives per year",
           .kind = number,
           .preset = "0.001",
           .shown = "X",
           .low = 0,
           .high = 0.05},
          {.name = "object",
           .label = "object size; an unreadable sector loses its object",
           .kind = quantity,
           .preset = "1 GB",
           .shown = "SIZE",
           .unit = "GB",
           .low = 0.001,
           .high = 1000,
           .log = true}};
}

}  // namespace

Calculator durability_calculator() {
  return {.name = "durability",
          .summary = "Durability of copies or an erasure code on drives that fail",
          .example = "orrery calc durability --data 17 --parity 3 --servers 20",
          .parameters = durability_parameters(),
          .ask = ask_durability};
}

}  // namespace orrery::calc
