// Machines: their type and number, their site, and whether they are bought or rented.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"

namespace orrery::design {

enum class Partition { slurm, kubernetes };

// A node that the catalog lacks, or changes to the one that `node` names: only given fields apply.
struct CustomNode {
  std::optional<std::string> accelerator;  // catalog id
  std::optional<int> accelerators;         // 0 is a CPU server
  std::optional<int> accelerators_per_host;
  std::optional<std::string> scale_up;  // catalog id of a link between accelerators
  std::optional<int> scale_up_links;    // links per accelerator
  std::optional<int> sockets;
  std::optional<int> cores;  // per host, all sockets
  std::optional<Bytes> memory;
  std::optional<BytesPerSecond> memory_bandwidth;  // per host, all sockets
  std::optional<FlopsPerSecond> matrix_rate;       // bf16 rate of one host's cores, all sockets
  std::optional<int> compute_nics;
  std::optional<BytesPerSecond> nic_rate;  // per NIC and direction
  std::optional<int> storage_nics;
  std::optional<BytesPerSecond> storage_nic_rate;
  std::optional<Bytes> local_nvme;
  std::optional<int> rack_units;
  std::optional<Watts> max_power;
  std::optional<Watts> typical_power;
  std::optional<Watts> idle_power;
  std::optional<Usd> price;

  bool operator==(const CustomNode&) const = default;
};

struct Rent {
  std::string provider;  // as in the price table: "aws", "lambda"
  catalog::Contract contract = catalog::Contract::on_demand;
  std::optional<Seconds> term;  // of a reservation
  std::optional<UsdPerSecond>
      price;  // per accelerator, or per node if it has none; none: the table's price
  std::optional<double> discount;      // of a reservation, relative to the on-demand price
  std::optional<double> interruption;  // share of spot nodes taken back per month

  bool operator==(const Rent&) const = default;
};

struct MigSlices {
  std::string profile;  // "1g.18gb"
  int count = 0;        // per accelerator

  bool operator==(const MigSlices&) const = default;
};

// What fails, how often, and how long a repair takes. None: the failure layer's published defaults.
struct Failures {
  // mean time between interruptions of a run caused by one node
  std::optional<Seconds> node_mtbf;
  std::optional<int> observed;         // number of failures that node_mtbf was counted from
  std::optional<double> lemon_share;   // share of nodes that fail far more often
  std::optional<double> lemon_factor;  // how many times more often
  std::optional<Seconds> repair;
  // Weibull shape of a node's time between failures; 1: exponential
  std::optional<double> shape;
  std::optional<Seconds> link_mtbf;   // per port of a node on the compute network
  std::optional<Seconds> storm_mtbf;  // per port, until its NIC pauses the network for good
  std::optional<Seconds> leaf_mtbf;   // per leaf switch; its failure takes down the nodes under it
  std::optional<Seconds> pdu_mtbf;    // per power unit; its failure takes down its racks
  std::optional<int> racks_per_pdu;
  std::optional<double> straggler_share;     // share of nodes that run slowly
  std::optional<double> straggler_slowdown;  // slowdown of such a node: 0.1 is 10 % slower

  bool operator==(const Failures&) const = default;
};

struct Fleet {
  std::string name;
  std::string node;  // catalog id; empty if `custom` describes all of the node
  std::optional<CustomNode> custom;
  int count = 0;                   // nodes in service
  int spares = 0;                  // nodes beyond `count` that are kept as spares
  std::string site;                // empty: the first site
  std::optional<Rent> rent;        // none: owned
  std::optional<Watts> power_cap;  // per accelerator
  std::vector<MigSlices> mig;
  Partition partition = Partition::slurm;
  std::optional<int> nodes_per_rack;  // none: as many as the rack's power and height allow
  std::optional<Watts> pdu_rating;    // rating of the power unit that feeds its racks
  Failures failures;

  bool operator==(const Fleet&) const = default;
};

}  // namespace orrery::design
