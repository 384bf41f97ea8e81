// Key figures of the templates computed by hand: counts of the reference architectures, and every
// line of the verdict recomputed from the design, the catalog's rows and the lines above it.
//
// Nothing here calls a layer. Each figure is computed from its definition, so that a term that is
// dropped, doubled or counted twice is noticed, whichever room it is in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "layers/failure/causes.h"
#include "model/design_text/read_design.h"
#include "model/design_text/templates.h"
#include "model/machine/known_fixture.h"
#include "plan/verdict/verdict.h"

namespace orrery {
namespace {

using figures::Layer;

struct Told {
  design::Design design;
  review::Review review;
  verdict::Verdict verdict;

  double at(Layer layer, std::string_view id, std::string_view section = {}) const {
    const figures::Figure* f = verdict.figure(layer, id, section);
    EXPECT_NE(f, nullptr) << design.name << ": " << id << " of " << section;
    return f ? f->estimate.value : -1;
  }
  const review::TrainView& train() const { return review.trains.front(); }
  const design::Train& asked() const { return *review.trains.front().train; }
};

const catalog::Catalog& parts() { return machine::known().catalog(); }

// Reviewed once per process, because each review includes a layout search.
const Told& told(const std::string& name) {
  static std::map<std::string, Told> all;
  const auto known = all.find(name);
  if (known != all.end()) return known->second;
  const auto found = design_text::find_template(name);
  auto design = design_text::read_design(found->text, parts(), {.file = name});
  EXPECT_TRUE(design.has_value()) << name;
  review::Review review = review::run_stages(*design, machine::known());
  verdict::Verdict verdict = verdict::verdict_of(review, {.spends = false});
  return all.emplace(name, Told{*design, std::move(review), std::move(verdict)}).first->second;
}

struct Counts {
  std::string name;
  int endpoints;
  int leaves;
  int spines;
  int cables;
};

// RA-09950 (A100), RA-11333 (H100 and H200), the B200, B300 XDR and SuperCluster briefs: endpoints,
// leaves, spines, and one cable per link of either kind. Dell's: 144 ports on leaves of 128 ports,
// half of them uplinks, need 3 leaves, whose 192 uplinks fill one and a half spines.
TEST(hand, compute_networks_are_those_of_the_reference_architectures) {
  for (const Counts& c : {Counts{"superpod-a100", 640, 32, 20, 640 + 640},
                          {"superpod-h100", 1016, 32, 16, 1016 + 1024},
                          {"superpod-h200", 1016, 32, 16, 1016 + 1024},
                          {"superpod-b200", 1024, 32, 16, 1024 + 1024},
                          {"superpod-b300", 576, 8, 4, 576 + 576},
                          {"supercluster-dlc", 256, 8, 4, 256 + 256},
                          {"dell-ai-factory", 144, 3, 2, 144 + 192}}) {
    const Told& t = told(c.name);
    SCOPED_TRACE(c.name);
    EXPECT_EQ(t.review.networks().compute.topology->endpoints, c.endpoints);
    EXPECT_EQ(t.at(Layer::fabric, "leaf_switches", "compute network"), c.leaves);
    EXPECT_EQ(t.at(Layer::fabric, "spine_switches", "compute network"), c.spines);
    EXPECT_EQ(t.at(Layer::fabric, "cables", "compute network"), c.cables);
    const double rate = t.review.networks().compute.port_rate.base();
    EXPECT_NEAR(t.at(Layer::fabric, "bisection", "compute network"), c.endpoints / 2.0 * rate, 1);
  }
}

// Servers are connected to the storage network like the hosts, with one port, or with as many as
// their rate needs. H200: 127 x 2 ports of hosts, and 32 servers of 400 Gb/s, 4 metadata servers
// and 48 object servers = 254 + 84. With 32 downlinks per leaf these need 11 leaves, whose 352
// uplinks need 6 spines of 64 ports; 8 spines divide the 32 uplinks of a leaf evenly.
TEST(hand, storage_networks_have_ports_for_their_servers) {
  const Told& h200 = told("superpod-h200");
  EXPECT_EQ(h200.review.networks().storage.topology->endpoints, 254 + 32 + 4 + 48);
  EXPECT_EQ(h200.at(Layer::fabric, "leaf_switches", "storage network"), 11);
  EXPECT_EQ(h200.at(Layer::fabric, "spine_switches", "storage network"), 8);
  EXPECT_DOUBLE_EQ(h200.at(Layer::fabric, "per_node", "storage network"), 100e9);
  // A100: 8 appliances of 40 GB/s on ports of 25 GB/s; they include their own metadata servers.
  EXPECT_EQ(told("superpod-a100").review.networks().storage.topology->endpoints, 160 + 2 * 8 + 24);
  // A server of 1.6 Tb/s on ports of 400 Gb/s needs four.
  design::Design d = h200.design;
  d.storage[0].server_network = gbits_per_s(1600);
  EXPECT_EQ(review::run_stages(d, machine::known()).networks().storage.topology->endpoints,
            254 + 4 * 32 + 4 + 48);
  // A tier run by a provider has no port here.
  d = h200.design;
  d.storage[1].provider = "aws";
  EXPECT_EQ(review::run_stages(d, machine::known()).networks().storage.topology->endpoints,
            254 + 32 + 4);
}

// One port per host, switch and storage server; RJ45 and copper, no optics.
TEST(hand, management_networks_reach_every_port_and_use_copper) {
  const Told& t = told("superpod-h200");
  const machine::Networks& n = t.review.networks();
  EXPECT_EQ(n.management.topology->endpoints, 127 + (32 + 16) + (11 + 8) + (32 + 4 + 48));
  for (const catalog::BillLine& line : n.management.bill.lines) {
    EXPECT_EQ(line.item.find("optics"), std::string::npos) << line.item;
  }
  const double each = n.management.switch_part->price->middle().base();
  const double cable = parts().optic("cat5e")->price->middle().base();
  EXPECT_NEAR(t.at(Layer::fabric, "price", "management network"),
              static_cast<double>(n.management.topology->switches()) * each +
                  t.at(Layer::fabric, "cables", "management network") * cable,
              1);
}

class EveryPod : public testing::TestWithParam<std::string> {
 protected:
  const Told& t_ = told(GetParam());
};

TEST_P(EveryPod, rates_follow_from_the_step) {
  const design::Train& asked = t_.asked();
  const double gpus = t_.train().accelerators;
  const double step = t_.at(Layer::training, "step_time");
  const double tokens = asked.batch * asked.sequence;
  const double goodput = t_.at(Layer::failure, "goodput");
  EXPECT_NEAR(t_.at(Layer::training, "rate_per_accelerator") * step * gpus, tokens, 1e-6 * tokens);
  const double useful = tokens / step * goodput;
  EXPECT_NEAR(t_.at(Layer::training, "useful_rate"), useful, 1e-6 * useful);
  const double seconds = *asked.tokens / useful;
  EXPECT_NEAR(t_.at(Layer::training, "run_time"), seconds, 1e-6 * seconds);
  EXPECT_NEAR(t_.at(Layer::training, "accelerator_hours"), gpus * seconds / 3600, 1);
  EXPECT_NEAR(t_.at(Layer::failure, "interruptions"), seconds / t_.at(Layer::failure, "mtbf"),
              1e-6 * seconds);
  // Model FLOPs: 6 per parameter that a token uses, and at most a quarter more for attention.
  const bool fp8 = asked.precision == catalog::Precision::fp8;  // twice the rate of bf16 here
  const double peak = t_.at(Layer::compute, "peak") * (fp8 ? 2 : 1);
  const double active = t_.train().model->experts > 0 ? 39e9 : t_.train().parameters;
  const double plain = 6 * active * tokens / step / gpus / peak;
  EXPECT_GT(t_.at(Layer::training, "mfu"), 0.93 * plain);
  EXPECT_LT(t_.at(Layer::training, "mfu"), 1.25 * plain);
}

// 14 B per parameter. The servers' rate is the limit; one file per rank has to be created, and a
// commit follows.
TEST_P(EveryPod, saves_and_restores) {
  const double size = t_.train().parameters * 14;
  EXPECT_NEAR(t_.at(Layer::storage, "checkpoint_size"), size, 1e-3 * size);
  const design::StorageTier& hot = t_.design.storage[0];
  const double creates = 20'000.0 * hot.metadata.servers.value_or(1);
  const double gpus = t_.train().accelerators;
  // Bytes per rank: the weights of its shard and its part of the optimizer.
  const double shards = t_.train().step.model_shards;
  const double rank = t_.train().parameters * (2 / shards + 12 / gpus);
  // All hosts write their part of the optimizer through the servers. Then those that have the
  // weights continue, limited by what their ranks serialise (2 GB/s each) or by the servers.
  const double on_host = t_.train().fleet->accelerators_per_host;
  const double weights = t_.train().parameters * 2 * std::min(1.0, on_host / shards);
  const double others = t_.train().parameters * 12 * on_host / gpus;
  const double most = weights + others;
  const double own = most / (rank / 2e9);
  const double hosts = gpus / on_host;
  // A host that has weights for some of its ranks counts as full; the other hosts share the rest.
  const double heavy = std::ceil(shards / on_host);
  const double light = (size - heavy * most) / (hosts - heavy);
  const double servers = hot.write->base();
  const double slowest = std::max(
      {size / servers, rank / 2e9,
       light / std::min(own, servers / hosts) + (most - light) / std::min(own, servers / heavy)});
  EXPECT_NEAR(t_.at(Layer::storage, "write_time"), slowest + gpus / creates + 2, 0.01 * slowest);
  EXPECT_NEAR(t_.at(Layer::storage, "restore_time"), size / hot.read->base(), 0.01);
  // Copied to the host at 27 GB/s. The host holds two checkpoints at the same time, and the weights
  // of replicas only once.
  EXPECT_NEAR(t_.at(Layer::storage, "stall"), rank / 27e9, 0.02 * rank / 27e9);
  const double per_host = t_.train().fleet->accelerators_per_host;
  const double memory =
      2 * t_.train().parameters * (2 * std::min(1.0, per_host / shards) + 12 * per_host / gpus);
  EXPECT_NEAR(t_.at(Layer::storage, "host_memory"), memory, 0.02 * memory);
}

TEST_P(EveryPod, failures_and_goodput) {
  const review::TrainView& v = t_.train();
  const double mtbf = t_.at(Layer::failure, "mtbf");
  EXPECT_NEAR(mtbf * v.hosts * v.failure.node_rate.base(), 1, 1e-9);
  // Detection and requeue as in the template; start 2 min plus 6 ms per rank; one attempt in ten
  // fails; half an hour of a person in 3 % of the cases.
  const double start = 120 + 0.006 * v.accelerators;
  const double read = t_.at(Layer::storage, "restore_time");
  const double restart = 60 + (30 + start + read) / 0.9 + 0.03 * 1800;
  EXPECT_NEAR(t_.at(Layer::failure, "restart"), restart, 0.1);
  const double stall = t_.at(Layer::storage, "stall");
  const double tau = t_.at(Layer::storage, "interval");
  // Daly's second-order interval is within 0.2 % of the optimum here.
  const double daly = std::sqrt(2 * stall * mtbf) * (1 + std::sqrt(stall / 2 / mtbf) / 3) - stall;
  EXPECT_NEAR(tau, daly, 2e-3 * daly);
  const double lost = restart + t_.at(Layer::storage, "write_time");  // time until the checkpoint
                                                                      // is safe
  const double left = tau / (mtbf * std::exp(lost / mtbf) * (std::exp((tau + stall) / mtbf) - 1));
  EXPECT_NEAR(t_.at(Layer::failure, "goodput"), left * (1 - v.failure.shortfall), 2e-4);
}

TEST_P(EveryPod, power_and_energy) {
  const design::Fleet& fleet = t_.design.fleet[0];
  const catalog::Node& node = *parts().node(fleet.node);
  const machine::Networks& n = t_.review.networks();
  double storage = 0;
  for (const catalog::BillLine& line : t_.verdict.bill.lines) {
    if (line.section == "storage") storage += line.count * line.unit_power.base();
  }
  double wires = 0;
  for (const char* name : {"compute network", "storage network", "management network"}) {
    wires += t_.at(Layer::fabric, "power", name);
  }
  const double machines = fleet.count * node.max_power->base();
  EXPECT_NEAR(t_.at(Layer::facility, "it_nameplate"), machines + wires + storage, 1);
  EXPECT_EQ(t_.review.sites[0].fabric.base(),
            (n.compute.bill.power() + n.storage.bill.power() + n.management.bill.power()).base());
  const double pue = t_.at(Layer::facility, "pue");
  EXPECT_GT(pue, 1.05);
  EXPECT_LT(pue, 1.5);
  EXPECT_NEAR(t_.at(Layer::facility, "draw_nameplate"), pue * (machines + wires + storage), 10);
  const double mean = t_.at(Layer::facility, "it_mean");
  const double of_one = t_.at(Layer::facility, "node_mean_" + fleet.name);
  EXPECT_NEAR(mean, fleet.count * of_one + wires + storage, 10);
  const double year = mean * pue * 365 * 86400;
  EXPECT_NEAR(t_.at(Layer::facility, "energy_year"), year, 2e-3 * year);
  const double grams = t_.review.sites[0].region->carbon.base() * year;
  EXPECT_NEAR(t_.at(Layer::facility, "carbon_year"), grams, 3e-3 * grams);
  EXPECT_EQ(t_.at(Layer::facility, "racks"),
            std::ceil(static_cast<double>(fleet.count) / *fleet.nodes_per_rack));
  EXPECT_NEAR(t_.at(Layer::facility, "rack_power_" + fleet.name),
              *fleet.nodes_per_rack * node.max_power->base(), 1);
  // All nodes of the run fall from 8.4/10.2 of the nameplate, or from their typical power, to idle.
  const double idle = t_.review.sites[0].fleets[0].node.idle.base();
  const double peak =
      std::max(node.max_power->base() * 8.4 / 10.2, node.typical_train_power->base());
  EXPECT_NEAR(t_.at(Layer::facility, "swing_" + fleet.name), t_.train().hosts * (peak - idle), 10);
}

TEST_P(EveryPod, money) {
  double bought = 0;
  for (const catalog::BillLine& line : t_.verdict.bill.lines) {
    if (line.unit_price) bought += line.count * line.unit_price->middle().base();
  }
  EXPECT_NEAR(t_.at(Layer::cost, "capex"), bought, 1);
  const double annual = t_.at(Layer::cost, "annual");
  double capital = 0;
  double running = 0;
  for (const cost::CostItem& i : t_.review.cost.owned->items) {
    const bool runs = i.name == "electricity" || i.name == "colocation" || i.name == "staff" ||
                      i.name == "repair";
    (runs ? running : capital) += i.per_year.base();
  }
  EXPECT_NEAR(annual, capital + running, 1);
  EXPECT_NEAR(t_.at(Layer::cost, "running"), running, 1);
  // Ten per cent interest over the design's years, a tenth of the price left at the end.
  const double years = t_.design.economics.horizon / orrery::years(1);
  const double worth = std::pow(1.1, -years);  // present value of a dollar at their end
  EXPECT_NEAR(capital, bought * (1 - 0.1 * worth) * 0.1 / (1 - worth), 1e-6 * capital);
  EXPECT_NEAR(t_.at(Layer::cost, "electricity_share") * annual,
              t_.at(Layer::facility, "energy_year") * t_.design.economics.power_price->base(),
              3e-3 * annual * t_.at(Layer::cost, "electricity_share"));
  const double units = t_.design.fleet[0].count * 8.0;
  const double goodput = t_.at(Layer::failure, "goodput");
  const double own_use = t_.at(Layer::cost, "own_use");
  const double hour = t_.at(Layer::cost, "useful_hour");
  EXPECT_NEAR(hour, annual / (units * 8760 * own_use * goodput), 1e-6 * hour);
  const double run = t_.at(Layer::training, "accelerator_hours") * goodput * hour;
  EXPECT_NEAR(t_.at(Layer::cost, "run_cost_pretrain"), run, 1e-6 * run);
  const double rent = t_.at(Layer::cost, "contract_hour");
  EXPECT_NEAR(t_.at(Layer::cost, "break_even"), annual / (units * 8760 * rent), 1e-6);
  EXPECT_LT(rent, t_.at(Layer::cost, "market_hour"));
}

design::Design template_of(const std::string& name) {
  return design_text::read_design(design_text::find_template(name)->text, parts(), {.file = name})
      .value();
}

// 200 M samples of 1 MB with a pinned cache of 100 TB in front: half of the reads are hits, except
// in the first of three epochs, which fills the cache.
TEST(hand, hit_rate_of_a_cache_follows_from_its_size) {
  design::Design d = template_of("av-vision");
  auto& data = std::get<design::Train>(d.workloads[0].task).dataset;
  data.tier = "lake";
  d.storage[0].capacity = terabytes(100);
  const review::Review half = review::run_stages(d, machine::known());
  ASSERT_NE(half.trains[0].feed.cache, nullptr);
  EXPECT_EQ(half.trains[0].feed.cache->label, "hot");
  EXPECT_NEAR(half.trains[0].feed.hit_rate, 0.5 * 2 / 3, 1e-9);
  d.storage[0].capacity = terabytes(1000);
  EXPECT_NEAR(review::run_stages(d, machine::known()).trains[0].feed.hit_rate, 2.0 / 3, 1e-9);
  // The cache itself has no cache in front of it.
  data.tier = "hot";
  EXPECT_EQ(review::run_stages(d, machine::known()).trains[0].feed.cache, nullptr);
}

// A run on four racks of eighteen hosts: four racks swing, not seventy-two hosts.
TEST(hand, a_rack_of_many_hosts_swings_once) {
  design::Design d = template_of("superpod-gb200");
  d.workloads[0].terms.nodes = 4;
  const review::Review r = review::run_stages(d, machine::known());
  ASSERT_EQ(r.trains[0].hosts, 72);
  const facility::NodePower& power = r.sites[0].fleets[0].node;
  const catalog::Node& rack = *parts().node("gb200-nvl72");
  const double peak =
      std::max(rack.max_power->base() * 8.4 / 10.2, rack.typical_train_power->base());
  EXPECT_NEAR(r.sites[0].fleets[0].swing->amplitude.base(), 4 * (peak - power.idle.base()), 10);
}

// One sample on one accelerator: 60 rows of 128 16-bit numbers are read, and then read and written
// with their moment; forward once and backward at twice the cost; weights and one moment of every
// row are held in memory.
TEST(hand, step_time_of_a_recommender_follows_from_its_rows) {
  design::Design d = template_of("recommender");
  auto& asked = std::get<design::Train>(d.workloads[0].task);
  asked.batch = 1;
  asked.embeddings->rows = 1e6;
  const review::Review r = review::run_stages(d, machine::known());
  const review::TrainView& v = r.trains[0];
  ASSERT_EQ(v.accelerators, 1);
  const catalog::Accelerator& a = *v.fleet->accelerator();
  double rows = 0;
  double sum = 0;
  for (const jobs::StepSlice& part : v.step.parts) {
    sum += part.time.base();
    if (part.name == "embedding tables") rows = part.time.base();
  }
  EXPECT_NEAR(rows, 4 * 60 * 128 * 2 / a.memory_bandwidth.base(), 1e-3 * rows);
  EXPECT_NEAR(v.step.step.base(), sum, 1e-9 * sum);
  const double flops = 3 * 100e6 / a.peak(catalog::Dtype::bf16)->base();
  EXPECT_NEAR(v.step.flops_utilisation, flops / v.step.step.base(), 1e-6);
  EXPECT_NEAR(v.step.memory.base(), 16 * 50e6 + 1e6 * 128 * 2 * 2 + 100e3, 1);
}

// The newest three and the one in flight in addition to 5 TB of data; a milestone per week and the
// last one; on a versioned tier also what was deleted within the week; without a rule everything
// that was ever saved.
TEST(hand, contents_of_tiers_follow_from_the_keep_rules) {
  design::Design d = template_of("superpod-h200");
  auto& save = *std::get<design::Train>(d.workloads[0].task).checkpoint;
  const auto reviewed = [&] { return review::run_stages(d, machine::known()); };
  const review::Review plain = reviewed();
  const double size = plain.trains[0].checkpoint->size.base();
  const double week = 7 * 86400;
  const double run = plain.trains[0].raw_time.base();
  EXPECT_NEAR(plain.used[design::TierIndex(0)].base(), 5e12 + 4 * size, 1e-6 * size);
  EXPECT_NEAR(plain.used[design::TierIndex(1)].base(), size * (1 + run / week), 1e-6 * size);
  save.milestone = days(1);
  EXPECT_NEAR(reviewed().used[design::TierIndex(1)].base(), size * (1 + run / 86400), 1e-6 * size);
  save.every = hours(1);
  d.storage[0].versioned = true;
  EXPECT_NEAR(reviewed().used[design::TierIndex(0)].base(), 5e12 + (4 + week / 3600) * size,
              1e-6 * size);
  d.storage[0].versioned = false;
  save.keep.clear();
  EXPECT_NEAR(reviewed().used[design::TierIndex(0)].base(), 5e12 + run / 3600 * size, 1e-3 * size);
}

// A tier without a number of metadata servers has one: creating 960 files takes 48 ms at 20,000 per
// second, and 12 ms at 80,000.
TEST(hand, a_tier_without_a_number_of_metadata_servers_has_one) {
  design::Design d = template_of("superpod-h200");
  const auto writes = [&] {
    return review::run_stages(d, machine::known()).trains[0].checkpoint->drain.total.base();
  };
  const double four = writes();
  d.storage[0].metadata.servers.reset();
  EXPECT_NEAR(writes() - four, 960 / 20000.0 - 960 / 80000.0, 1e-6);
}

// Software faults and hangs need no repair of the node; a fleet's own failure rate applies to the
// other causes.
TEST(hand, nodes_in_repair_are_those_whose_hardware_failed) {
  design::Design d = template_of("superpod-h200");
  d.fleet[0].failures.node_mtbf = days(100);
  d.fleet[0].failures.repair = days(2);
  double soft = 0;
  double all = 0;
  for (const failure::FaultCause& c : machine::known().fault_causes) {
    all += c.share;
    const bool is_soft =
        c.group == failure::FaultGroup::software || c.group == failure::FaultGroup::hang;
    soft += is_soft ? c.share : 0;
  }
  EXPECT_NEAR(all, 1, 1e-9);
  EXPECT_GT(soft, 0.1);
  const review::Review r = review::run_stages(d, machine::known());
  EXPECT_NEAR(r.trains[0].failure.mtbf.base(), 100 * 86400 / 120.0, 1e-6);
  EXPECT_NEAR(r.trains[0].failure.mean_in_repair, 120 * 2 / 100.0 * (1 - soft), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(templates, EveryPod,
                         testing::Values("superpod-a100", "superpod-h200", "superpod-b200",
                                         "superpod-b300", "supercluster-dlc"),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace orrery
