// Machines: what they are, how many, where, and whether they are bought or rented.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/catalog/vocabulary.h"

namespace orrery::design {

enum class Partition { slurm, kubernetes };

// A node that the catalog lacks, or changes to the one that `node` names: only what is given
// counts.
struct CustomNode {
  std::optional<std::string> accelerator;  // catalog id
  std::optional<int> accelerators;         // 0 is a CPU server
  std::optional<int> accelerators_per_host;
  std::optional<std::string> scale_up;  // catalog id of a link between accelerators
  std::optional<int> scale_up_links;    // of one accelerator
  std::optional<int> sockets;
  std::optional<int> cores;  // of one host, all sockets
  std::optional<Bytes> memory;
  std::optional<BytesPerSecond> memory_bandwidth;  // of one host, all sockets
  std::optional<FlopsPerSecond> matrix_rate;       // of its cores in bf16, all sockets
  std::optional<int> compute_nics;
  std::optional<BytesPerSecond> nic_rate;  // each, per direction
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
      price;  // for one accelerator (one node where it has none); none: the table's
  std::optional<double> discount;      // of a reservation, off the on-demand price
  std::optional<double> interruption;  // of spot: fraction of nodes taken back in a month

  bool operator==(const Rent&) const = default;
};

struct MigSlices {
  std::string profile;  // "1g.18gb"
  int count = 0;        // on each accelerator

  bool operator==(const MigSlices&) const = default;
};

// What fails, how often, how long repair takes. None: the failure layer's published defaults.
struct Failures {
  std::optional<Seconds> node_mtbf;    // between interruptions of a run, by one node's share
  std::optional<int> observed;         // failures that it was taken from
  std::optional<double> lemon_share;   // of nodes that fail far more often
  std::optional<double> lemon_factor;  // by how much
  std::optional<Seconds> repair;
  std::optional<double> shape;        // of a node's Weibull time between failures; 1: exponential
  std::optional<Seconds> link_mtbf;   // of one port of a node on the compute network
  std::optional<Seconds> storm_mtbf;  // of one port, until its NIC pauses the network for good
  std::optional<Seconds> leaf_mtbf;   // of a leaf switch, which takes the nodes under it
  std::optional<Seconds> pdu_mtbf;    // of a power unit, which takes its racks
  std::optional<int> racks_per_pdu;
  std::optional<double> straggler_share;     // of nodes that run slow
  std::optional<double> straggler_slowdown;  // of such a node: 0.1 is 10 % slower

  bool operator==(const Failures&) const = default;
};

struct Fleet {
  std::string name;
  std::string node;  // catalog id; empty where `custom` describes it whole
  std::optional<CustomNode> custom;
  int count = 0;                   // nodes in service
  int spares = 0;                  // further nodes that stand by
  std::string site;                // empty: the first site
  std::optional<Rent> rent;        // none: owned
  std::optional<Watts> power_cap;  // per accelerator
  std::vector<MigSlices> mig;
  Partition partition = Partition::slurm;
  std::optional<int> nodes_per_rack;  // none: as many as the rack's power and height allow
  std::optional<Watts> pdu_rating;    // of the power unit that its racks hang on
  Failures failures;

  bool operator==(const Fleet&) const = default;
};

}  // namespace orrery::design
