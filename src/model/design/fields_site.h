// Fields of site, fleet and economics.
#pragma once

#include "model/design/economics.h"
#include "model/design/fields.h"
#include "model/design/fleet.h"
#include "model/design/site.h"

namespace orrery::design {

// What feeds the site during a utility outage, and what removes its heat.
template <class V, Is<Site> S>
void visit_plant(V& v, S& s) {
  v("outage_mtbf", s.outage_mtbf,
    Field{.doc = "mean time between utility outages",
          .unit = "y",
          .absent = "the utility never fails",
          .range = Range::positive,
          .moves = "dark_year falls"});
  v("outage", s.outage,
    Field{.doc = "mean length of a utility outage",
          .unit = "h",
          .absent = "1 h, assumed",
          .range = Range::positive,
          .moves = "dark_year rises"});
  v("battery", s.battery,
    Field{.doc = "how long batteries carry the IT at nameplate power",
          .unit = "min",
          .absent = "no batteries: the IT loses power with the utility",
          .moves = "dark_year falls"});
  v("generator", s.generator,
    Field{.doc = "time until generators carry IT and cooling",
          .unit = "s",
          .absent = "no generators",
          .range = Range::positive,
          .moves = "dark_year rises"});
  v("cooling_unit", s.cooling_unit,
    Field{.doc = "heat that one CDU, chiller or air handler removes",
          .unit = "kW",
          .absent = "1 MW, a row unit",
          .range = Range::positive,
          .moves = "cooling_units falls"});
  v("cooling_spares", s.cooling_spares,
    Field{.doc = "cooling units beyond those needed at nameplate power",
          .absent = "1",
          .moves = "cooling_units rises"});
  v("cooling_unit_mtbf", s.cooling_unit_mtbf,
    Field{.doc = "mean time between failures of one cooling unit, its pumps included",
          .unit = "y",
          .absent = "they never fail",
          .range = Range::positive,
          .moves = "cooling_short falls"});
  v("cooling_design", s.cooling_design,
    Field{.doc = "outdoor dry-bulb temperature that the cooling units are sized for, below 55 C; "
                 "in hotter hours of the site's `hours` they remove less heat",
          .unit = "C",
          .absent = "the weather sets no limit",
          .range = Range::any,
          .moves = "cooling_hottest rises"});
}

// What the site promises about its data and tenants.
template <class V, Is<Site> S>
void visit_policies(V& v, S& s) {
  v("air_gapped", s.air_gapped,
    Field{.doc = "nothing in the site may call any service outside",
          .moves = "rule policy.air-gap"});
  v("encryption_at_rest", s.encryption_at_rest,
    Field{.doc = "every tier of the site encrypts what it stores",
          .moves = "rule policy.encryption-at-rest"});
  v("encryption_in_transit", s.encryption_in_transit,
    Field{.doc = "every network of the site encrypts what it carries",
          .moves = "rule policy.encryption-in-transit"});
  v("tenant_isolation", s.tenant_isolation,
    Field{.doc = "partition keys, VLANs or VRFs keep tenants apart",
          .moves = "rule policy.tenant-isolation"});
}

template <class V, Is<Site> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "how fleets, storage tiers and zones refer to the site", .moves = "label"});
  v("region", s.region,
    Field{.doc = "catalog region: sets grid, climate, price of power and law",
          .part = Part::region,
          .required = true,
          .example = "gcp-us-east4",
          .moves = "carbon_year changes"});
  v("power", s.power,
    Field{.doc = "power that the site can supply, IT and cooling together",
          .unit = "MW",
          .absent = "not limited",
          .range = Range::positive,
          .moves = "nodes_that_fit rises"});
  v("cooling", s.cooling,
    Field{.doc = "how racks are cooled", .part = Part::cooling, .moves = "pue changes"});
  v("rack", s.rack,
    Field{.doc = "highest power that one rack may draw",
          .unit = "kW",
          .absent = "what the cooling method allows",
          .range = Range::positive,
          .moves = "racks falls"});
  v("racks", s.racks,
    Field{.doc = "rack positions in the hall",
          .absent = "as many as needed",
          .moves = "rule facility.rack-positions"});
  v("redundancy", s.redundancy,
    Field{.doc = "redundancy of the power path",
          .part = Part::redundancy,
          .moves = "energy_year changes"});
  v("power_chain", s.power_chain,
    Field{.doc = "stages from the utility to the node; an empty list is the usual chain",
          .part = Part::power_stage,
          .moves = "pue changes"});
  v("pue", s.pue,
    Field{.doc = "power usage effectiveness to use instead of the computed one",
          .absent = "computed",
          .range = Range::at_least_one,
          .moves = "draw_nameplate rises"});
  v("climate", s.climate,
    Field{.doc = "climate in the PUE table; empty is the region's",
          .part = Part::climate,
          .moves = "pue changes"});
  v("hours", s.hours,
    Field{.doc = "CSV with values per hour: carbon_g_per_kwh, pue or dry_bulb_c; empty uses yearly "
                 "means",
          .moves = "carbon_year changes"});
  v("supply_temperature", s.supply_c,
    Field{.doc = "temperature of the supplied air or water",
          .unit = "C",
          .absent = "the usual one for the cooling method",
          .range = Range::any,
          .moves = "pue falls"});
  visit_plant(v, s);
  visit_policies(v, s);
  v("ready", s.ready,
    Field{.doc = "items with a lead time that are already on site",
          .part = Part::lead_time,
          .moves = "ready_in changes"});
  v("rented_hall", s.rented_hall,
    Field{.doc = "colocation paid per kilowatt; false: the hall is built and owned",
          .moves = "annual changes"});
}

inline constexpr std::string_view kAsNode = "as in the catalog's node";

// Cores and memory of one host.
template <class V, Is<CustomNode> S>
void visit_host(V& v, S& s) {
  v("sockets", s.sockets,
    Field{.doc = "CPU sockets per host", .absent = kAsNode, .moves = "emit slurm"});
  v("cores", s.cores,
    Field{.doc = "CPU cores per host", .absent = "56 per socket, assumed", .moves = "emit slurm"});
  v("memory", s.memory,
    Field{
        .doc = "memory per host", .unit = "TB", .absent = "2 TB, assumed", .moves = "emit slurm"});
  v("memory_bandwidth", s.memory_bandwidth,
    Field{.doc = "memory bandwidth per host, for models that its CPU cores serve",
          .unit = "GB/s",
          .absent = "300 GB/s per socket, assumed",
          .range = Range::positive,
          .moves = "tpot falls"});
  v("matrix_rate", s.matrix_rate,
    Field{.doc = "bf16 matrix rate of one host's CPU cores (AMX, AVX-512), as on its data sheet",
          .unit = "TFLOP/s",
          .absent = "200 TFLOP/s per socket, assumed",
          .range = Range::positive,
          .moves = "ttft falls"});
}

// Power of one node.
template <class V, Is<CustomNode> S>
void visit_power(V& v, S& s) {
  v("max_power", s.max_power,
    Field{.doc = "nameplate power",
          .unit = "kW",
          .absent = kAsNode,
          .range = Range::positive,
          .moves = "it_nameplate rises"});
  v("typical_power", s.typical_power,
    Field{.doc = "mean power under load, at most the nameplate",
          .unit = "kW",
          .absent = kAsNode,
          .range = Range::positive,
          .moves = "it_mean rises"});
  v("idle_power", s.idle_power,
    Field{.doc = "power when idle, at most the nameplate",
          .unit = "W",
          .absent = kAsNode,
          .moves = "it_mean rises"});
}

template <class V, Is<CustomNode> S>
void visit_fields(V& v, S& s) {
  v("accelerator", s.accelerator,
    Field{.doc = "accelerator model",
          .absent = kAsNode,
          .part = Part::accelerator,
          .moves = "step_time changes"});
  v("accelerators", s.accelerators,
    Field{.doc = "number of accelerators; 0 is a CPU server",
          .absent = kAsNode,
          .moves = "draw_nameplate changes"});
  v("accelerators_per_host", s.accelerators_per_host,
    Field{.doc = "accelerators per host, if a node is several hosts",
          .absent = "all of the node's",
          .moves = "emit slurm"});
  v("scale_up", s.scale_up,
    Field{.doc = "scale-up link between its accelerators, in place of the catalog's",
          .absent = "the accelerator's own",
          .part = Part::scale_up_link,
          .moves = "step_time changes"});
  v("scale_up_links", s.scale_up_links,
    Field{.doc = "number of such links per accelerator",
          .absent = "enough for the bandwidth of the accelerator's own links",
          .range = Range::at_least_one,
          .moves = "step_time changes"});
  visit_host(v, s);
  v("compute_nics", s.compute_nics,
    Field{.doc = "number of NICs on the compute network",
          .absent = kAsNode,
          .moves = "rule fabric.endpoints"});
  v("nic_rate", s.nic_rate,
    Field{.doc = "rate of one compute NIC, per direction",
          .unit = "Gb/s",
          .absent = kAsNode,
          .moves = "all_reduce_1gib falls"});
  v("storage_nics", s.storage_nics,
    Field{
        .doc = "number of ports on the storage network", .absent = "2", .moves = "per_node rises"});
  v("storage_nic_rate", s.storage_nic_rate,
    Field{.doc = "rate of one storage port, per direction",
          .unit = "Gb/s",
          .absent = "the compute NIC's",
          .moves = "per_node rises"});
  v("local_nvme", s.local_nvme,
    Field{.doc = "capacity of the drives in the node",
          .unit = "TB",
          .absent = kAsNode,
          .moves = "capacity rises"});
  v("rack_units", s.rack_units,
    Field{.doc = "height in the rack", .absent = kAsNode, .moves = "racks rises"});
  visit_power(v, s);
  v("price", s.price,
    Field{.doc = "purchase price of one node",
          .unit = "kUSD",
          .absent = kAsNode,
          .moves = "capex rises"});
}

template <class V, Is<Rent> S>
void visit_fields(V& v, S& s) {
  v("provider", s.provider,
    Field{.doc = "provider whose price list applies",
          .part = Part::provider,
          .required = true,
          .example = "aws",
          .moves = "annual changes"});
  v("contract", s.contract, Field{.doc = "type of rental contract", .moves = "annual changes"});
  v("term", s.term,
    Field{.doc = "length of a reservation", .unit = "y", .absent = "1 y", .moves = "annual falls"});
  v("price", s.price,
    Field{.doc = "price of one accelerator, or of one node if it has none",
          .unit = "USD/h",
          .absent = "the provider's list price",
          .moves = "annual rises"});
  v("discount", s.discount,
    Field{.doc = "discount of a reservation from the on-demand price",
          .absent = "the catalog's rule",
          .range = Range::fraction,
          .moves = "annual falls"});
  v("interruption", s.interruption,
    Field{.doc = "share of spot nodes that are taken back per month",
          .absent = "the catalog's band",
          .range = Range::fraction,
          .moves = "goodput falls"});
}

// Failures that depend on age, and failures of parts that nodes share.
template <class V, Is<Failures> S>
void visit_parts(V& v, S& s) {
  v("shape", s.shape,
    Field{.doc =
              "Weibull shape of a node's time between failures, counted from the start of the run "
              "and from each repair: below 1, failures come early in its life; above 1, late",
          .absent = "1: exponential, the same at any age",
          .range = Range::positive,
          .moves = "mtbf rises"});
  v("link_mtbf", s.link_mtbf,
    Field{.doc = "mean time between failures of one port of a node on the compute network, cable "
                 "included; a failure takes the node down",
          .unit = "y",
          .absent = "included in node_mtbf",
          .range = Range::positive,
          .moves = "mtbf rises"});
  v("storm_mtbf", s.storm_mtbf,
    Field{.doc = "mean time until the NIC of one such port stops taking packets and pauses its "
                 "switch for good; this takes the node down and, until a watchdog acts, stalls all "
                 "nodes whose packets wait behind its own",
          .unit = "y",
          .absent = "included in node_mtbf",
          .range = Range::positive,
          .moves = "mtbf rises"});
  v("leaf_mtbf", s.leaf_mtbf,
    Field{.doc = "mean time between failures of a leaf switch; a failure takes down all nodes "
                 "under it at once",
          .unit = "y",
          .absent = "included in node_mtbf",
          .range = Range::positive,
          .moves = "mtbf rises"});
  v("pdu_mtbf", s.pdu_mtbf,
    Field{.doc = "mean time between failures of a power distribution unit; a failure takes down "
                 "its racks at once",
          .unit = "y",
          .absent = "included in node_mtbf",
          .range = Range::positive,
          .moves = "mtbf rises"});
  v("racks_per_pdu", s.racks_per_pdu,
    Field{.doc = "racks fed by one power distribution unit",
          .absent = "1",
          .range = Range::at_least_one,
          .moves = "mtbf rises"});
}

template <class V, Is<Failures> S>
void visit_fields(V& v, S& s) {
  constexpr std::string_view kPublished = "the failure model's published figure";
  v("node_mtbf", s.node_mtbf,
    Field{.doc = "mean time between failures of one node",
          .unit = "d",
          .absent = kPublished,
          .range = Range::positive,
          .moves = "mtbf rises"});
  v("observed", s.observed,
    Field{
        .doc =
            "number of failures that node_mtbf was counted from; more of them narrow the intervals",
        .absent = "unknown: the interval is a factor of 1.5 either way",
        .range = Range::at_least_one,
        .moves = "mtbf_width falls"});
  v("lemon_share", s.lemon_share,
    Field{.doc = "share of nodes that fail far more often",
          .absent = kPublished,
          .range = Range::fraction,
          .moves = "mtbf falls"});
  v("lemon_factor", s.lemon_factor,
    Field{.doc = "how many times more often those nodes fail",
          .absent = kPublished,
          .range = Range::at_least_one,
          .moves = "mtbf falls"});
  v("repair", s.repair,
    Field{.doc = "time until a failed node is back",
          .unit = "h",
          .absent = kPublished,
          .moves = "rule failure.spares"});
  visit_parts(v, s);
  v("straggler_share", s.straggler_share,
    Field{.doc = "share of nodes that run slowly",
          .absent = kPublished,
          .range = Range::fraction,
          .moves = "goodput falls"});
  v("straggler_slowdown", s.straggler_slowdown,
    Field{.doc = "slowdown of such a node: 0.1 is 10 % slower",
          .absent = kPublished,
          .range = Range::fraction,
          .moves = "goodput falls"});
}

template <class V, Is<Fleet> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "how workloads refer to the fleet",
          .required = true,
          .example = "train",
          .moves = "label"});
  v("node", s.node,
    Field{.doc = "catalog id of the node, the unit of purchase; may be left out if `custom` "
                 "describes all of it",
          .part = Part::node,
          .example = "dgx-h100",
          .moves = "capex changes"});
  v("custom", s.custom,
    Field{.doc = "a node of your own, or changes to the catalog's node", .absent = "none"});
  v("count", s.count,
    Field{.doc = "nodes in service",
          .range = Range::at_least_one,
          .required = true,
          .example = "127",
          .moves = "capex rises"});
  v("spares", s.spares,
    Field{.doc = "nodes beyond `count` that are kept as spares", .moves = "capex rises"});
  v("site", s.site,
    Field{.doc = "name of the site that the fleet is in; empty is the first site",
          .moves = "cables changes"});
  v("rent", s.rent,
    Field{.doc = "provider and contract, if the nodes are rented", .absent = "owned"});
  v("power_cap", s.power_cap,
    Field{.doc = "power limit of one accelerator",
          .unit = "W",
          .absent = "its TDP",
          .range = Range::positive,
          .moves = "it_nameplate rises"});
  v("mig", s.mig,
    Field{.doc = "MIG slices on each accelerator, as profile: count; services run one replica on "
                 "each slice",
          .example = "{ 1g.18gb: 7 }",
          .moves = "emit kubernetes"});
  v("partition", s.partition,
    Field{.doc = "scheduler that owns the fleet, if both run", .moves = "emit "});
  v("nodes_per_rack", s.nodes_per_rack,
    Field{.doc = "nodes per rack",
          .absent = "as many as rack power and height allow",
          .range = Range::at_least_one,
          .moves = "racks falls"});
  v("pdu_rating", s.pdu_rating,
    Field{.doc = "breaker rating of the power unit that feeds `failures.racks_per_pdu` racks",
          .unit = "kW",
          .absent = "unknown",
          .range = Range::positive,
          .moves = "pdu_load_ falls"});
  v("failures", s.failures, Field{.doc = "what fails and how often"});
}

template <class V, Is<Economics> S>
void visit_fields(V& v, S& s) {
  constexpr std::string_view kCatalog = "the catalog's range";
  v("horizon", s.horizon,
    Field{.doc = "period over which costs are counted",
          .unit = "y",
          .range = Range::positive,
          .moves = "annual falls"});
  v("power_price", s.power_price,
    Field{.doc = "price of electricity",
          .unit = "USD/kWh",
          .absent = "the region's",
          .moves = "annual rises"});
  v("discount_rate", s.discount_rate,
    Field{.doc = "discount rate per year",
          .absent = kCatalog,
          .range = Range::fraction,
          .moves = "annual rises"});
  v("residual", s.residual,
    Field{.doc = "value left at the horizon, as a share of the purchase price",
          .absent = kCatalog,
          .range = Range::fraction,
          .moves = "annual falls"});
  v("depreciation", s.depreciation,
    Field{.doc = "depreciation period in the books",
          .unit = "y",
          .absent = "the horizon",
          .range = Range::positive,
          .moves = "annual falls"});
  v("colocation", s.colocation,
    Field{.doc = "rent of the hall, per kilowatt",
          .unit = "USD/kW/month",
          .absent = kCatalog,
          .moves = "annual rises"});
  v("staff", s.staff,
    Field{.doc = "full-time employees", .absent = kCatalog, .moves = "annual rises"});
  v("staff_cost", s.staff_cost,
    Field{.doc = "cost of one employee per year",
          .unit = "kUSD/y",
          .absent = "200 kUSD/y, assumed",
          .moves = "annual rises"});
  v("utilisation", s.utilisation,
    Field{.doc = "share of hours in which the machines are in use",
          .absent = "0.9, assumed",
          .range = Range::fraction,
          .moves = "useful_hour falls"});
  v("repair", s.repair,
    Field{.doc = "repair cost per year, as a share of the purchase price",
          .absent = kCatalog,
          .range = Range::fraction,
          .moves = "annual rises"});
  v("egress_price", s.egress_price,
    Field{.doc = "price of data that leaves a rented site",
          .unit = "USD/GB",
          .absent = "AWS's price steps",
          .moves = "annual rises"});
  v("egress", s.egress,
    Field{.doc = "data that leaves per year",
          .unit = "TB",
          .absent = "none",
          .moves = "annual rises"});
}

}  // namespace orrery::design
