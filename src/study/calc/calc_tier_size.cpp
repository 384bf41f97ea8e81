// How many drives and servers a tier needs for the data that a training run keeps on it and the
// rates that it asks for.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/workload/model_math.h"
#include "layers/storage/checkpoint.h"
#include "layers/storage/tier_sizing.h"
#include "model/figures/assumptions.h"
#include "study/calc/calc_values.h"
#include "study/calc/parameters.h"

namespace orrery::calc {
namespace {

constexpr const char* kTierSizePage = "docs/models/storage.md";
using figures::assumptions::kDeliveredSpread;
using figures::assumptions::kStreetSpread;

struct TierSizeAsked {
  const catalog::ModelShape* model = nullptr;
  double bytes_per_param = 14;
  int keep = 3;
  Seconds write_in;
  Bytes data_set;
  BytesPerSecond read;
  const catalog::StorageDevice* device = nullptr;
  storage::TierOptions options;
};

// Returns the demand: one save being written and one in flight, in addition to those that are kept;
// reads go on at the same time.
storage::TierDemand demand_of(const TierSizeAsked& a, Bytes save) {
  return storage::TierDemand{.capacity = a.data_set, .read = a.read} +
         storage::TierDemand{.capacity = save * (a.keep + 1), .write = save / a.write_in};
}

std::string limits_text(const storage::TierSize& s) {
  return fmt::format("max(capacity {}, read {}, write {}), limited by {}",
                     significant(s.by_capacity, 4), significant(s.by_read, 4),
                     significant(s.by_write, 4), to_text(s.limit));
}

std::string servers_text(const TierSizeAsked& a, const storage::TierSize& s) {
  if (!a.options.server.network) return "one per device, as it is sold";
  const char* more =
      s.servers_for == storage::ServersFor::network ? ", whose network needs more of them"
      : s.servers_for == storage::ServersFor::cores ? ", whose cores need more of them"
                                                    : "";
  return fmt::format("{} devices per server, {} of network{}", a.options.server.devices,
                     brief(*a.options.server.network), more);
}

void add_counts(Calculation& c, const TierSizeAsked& a, const storage::TierSize& s) {
  const auto add = [&](std::string id, std::string label, figures::Unit unit, double value,
                       double spread, std::string formula) {
    c.figures.push_back({.id = std::move(id),
                         .label = std::move(label),
                         .unit = unit,
                         .estimate = within(value, spread, spread, Basis::derived, kTierSizePage),
                         .formula = std::move(formula)});
  };
  using enum figures::Unit;
  add("devices", "devices of " + a.device->id, count, s.devices, kDeliveredSpread, limits_text(s));
  add("servers", "servers", count, s.servers, kDeliveredSpread, servers_text(a, s));
  add("usable", "capacity", bytes, s.usable.base(), 0.05, "");
  const std::string bound = s.cores_limit      ? "limited by the servers' cores"
                            : s.network_limits ? "limited by the servers' network"
                                               : "";
  add("read", "read rate bought", bytes_per_s, s.read.base(), kDeliveredSpread, bound);
  add("write", "write rate bought", bytes_per_s, s.write.base(), kDeliveredSpread, bound);
  add("power", "power of the devices", watts, s.power.base(), kDeliveredSpread, "");
  add("price", "purchase price", usd, s.price.middle().base(), kStreetSpread, "");
}

void add_durability(Calculation& c, const TierSizeAsked& a, const storage::TierSize& s) {
  const storage::Protection& p = a.options.protection;
  if (storage::form_of(*a.device) != storage::DeviceForm::drive) return;
  const auto d = storage::tier_durability({s.devices, s.servers}, *a.device, a.options);
  if (!d) return;
  const int shards = p.data + p.parity;
  const int servers = std::max(1, static_cast<int>(s.servers));
  const int on_one = p.shards_on_one(servers);
  c.figures.push_back(
      {.id = "nines",
       .label = "durability, nines per year",
       .unit = figures::Unit::count,
       .estimate = within(d->nines, 0.2, 0.2, Basis::derived, "docs/models/durability.md"),
       .formula = fmt::format("{} + {} over {} servers", p.data, p.parity, servers)});
  if (on_one <= p.parity) return;
  c.assumptions.push_back(fmt::format(
      "a server holds {} of {} shards, more than the {} that may be lost: while one server is down "
      "some data cannot be read; {} servers or more survive the loss of one",
      on_one, shards, p.parity, p.least_servers()));
}

Calculation calc_tier_size(const TierSizeAsked& a) {
  const double parameters = workload::count_parameters(*a.model).total;
  const Bytes save = Bytes(parameters * a.bytes_per_param);
  const storage::TierSize s = size_tier(demand_of(a, save), *a.device, a.options);
  Calculation c{.question = fmt::format("How large is a tier for {} and its data?", a.model->id)};
  c.answer = fmt::format("{} x {} in {} servers, sized by {}.", significant(s.devices, 6),
                         a.device->id, significant(s.servers, 6), to_text(s.limit));
  c.figures.push_back({.id = "save",
                       .label = "size of a checkpoint",
                       .unit = figures::Unit::bytes,
                       .estimate = exact(save.base(), Basis::derived, "docs/models/checkpoint.md"),
                       .formula = fmt::format("{} parameters x {} B", count_to_brief(parameters, 4),
                                              significant(a.bytes_per_param, 3))});
  c.assumptions = {
      fmt::format("erasure code {} + {}, filled to 80 %; drives deliver 80 % of their rate",
                  a.options.protection.data, a.options.protection.parity),
      fmt::format("{} checkpoints are kept and one is in flight", a.keep),
      "a save is written while the data set is read; only drives have prices and power here"};
  add_counts(c, a, s);
  add_durability(c, a, s);
  return c;
}

Result<Calculation> ask_tier_size(CalcValues& v, const machine::Models&) {
  TierSizeAsked a{.model = v.model("model"), .bytes_per_param = v.count("bytes-per-param")};
  a.keep = v.whole("keep");
  a.write_in = v.quantity<Seconds>("write-in");
  a.data_set = v.quantity<Bytes>("data-set");
  a.read = v.quantity<BytesPerSecond>("read");
  a.device = v.catalog().storage_device(v.word("device"));
  a.options.protection.data = v.whole("data");
  a.options.protection.parity = v.whole("parity");
  a.options.server.devices = v.whole("drives-per-server");
  a.options.server.network = v.quantity<BytesPerSecond>("server-network");
  if (a.device == nullptr) {
    return fail({.code = "calc.device",
                 .what = fmt::format("the catalog has no storage device `{}`", v.word("device")),
                 .why = "`orrery catalog storage_devices` lists them"});
  }
  if (!v.faults().empty()) return Calculation{};
  if (storage::form_of(*a.device) != storage::DeviceForm::drive) a.options.server.network.reset();
  // Appliances and servers that are sold whole have their own protection.
  if (storage::form_of(*a.device) == storage::DeviceForm::appliance) {
    a.options.protection = storage::kApplianceProtection;
    a.options.delivered = 1;
    a.options.server.devices = 1;
  }
  return calc_tier_size(a);
}

std::vector<CalcParameter> tier_size_parameters() {
  return {part_parameter("model", "models", "llama-3.1-405b", "catalog id of the model"),
          {.name = "bytes-per-param",
           .label = "bytes saved per parameter",
           .kind = ParameterKind::number,
           .preset = "14",
           .shown = "X",
           .low = 2,
           .high = 16},
          whole_parameter("keep", "checkpoints kept on the tier", "3", 100),
          amount_parameter("write-in", "time that writing a save may take", "60 s", "s", 1, 3600),
          amount_parameter("data-set", "size of the data set", "100 TB", "TB", 1, 1e5),
          amount_parameter("read", "read rate that the data loaders need", "50 GB/s", "GB/s", 0.01,
                           1e4),
          part_parameter("device", "storage_devices", "tlc-gen5", "catalog id of the drive"),
          whole_parameter("drives-per-server", "drives per server", "24", 100),
          amount_parameter("server-network", "network rate per server, per direction", "400 Gb/s",
                           "Gb/s", 10, 3200),
          whole_parameter("data", "data shards of the code", "8", 32),
          whole_parameter("parity", "parity shards", "2", 8)};
}

}  // namespace

Calculator tier_size_calculator() {
  return {.name = "tier-size",
          .summary = "Number of drives and servers for a run's checkpoints and data",
          .example = "orrery calc tier-size --model llama-3.1-405b --write-in \"30 s\"",
          .parameters = tier_size_parameters(),
          .ask = ask_tier_size};
}

}  // namespace orrery::calc
