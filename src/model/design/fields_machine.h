// Fields of fabric, storage and scheduler.
#pragma once

#include "model/design/fields.h"
#include "model/design/networks.h"
#include "model/design/scheduling.h"
#include "model/design/tiers.h"

namespace orrery::design {

template <class V, Is<RoceChecklist> S>
void visit_fields(V& v, S& s) {
  constexpr std::string_view kAsked = "undeclared: the review asks";
  v("pfc", s.pfc,
    Field{.doc = "priority flow control, for the RDMA class only",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("ecn", s.ecn,
    Field{.doc = "ECN marking, well below the pause threshold",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("dedicated_queue", s.dedicated_queue,
    Field{.doc = "RDMA traffic has a queue of its own",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("hash_spread", s.hash_spread,
    Field{.doc = "flows give the hash enough entropy: several queue pairs, or packet spraying",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("pfc_watchdog", s.pfc_watchdog,
    Field{.doc = "a watchdog that ends a pause storm",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("headroom_checked", s.headroom_checked,
    Field{.doc = "buffer headroom that fits cable length and rate",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("ecn_kmin", s.ecn_kmin,
    Field{.doc = "length of the egress queue at which ECN marking begins",
          .unit = "kB",
          .absent = "150 kB, as NVIDIA's switches set it",
          .range = Range::positive,
          .moves = "marked_queue rises"});
  v("ecn_kmax", s.ecn_kmax,
    Field{
        .doc = "length of the egress queue above which every packet is marked; more than ecn_kmin",
        .unit = "kB",
        .absent = "1500 kB, as NVIDIA's switches set it",
        .range = Range::positive,
        .moves = "marked_queue rises"});
  v("ecn_pmax", s.ecn_pmax,
    Field{.doc = "share of packets marked at ecn_kmax",
          .absent = "1",
          .range = Range::positive_fraction,
          .moves = "marked_queue falls"});
  v("xoff", s.xoff,
    Field{.doc = "buffered bytes per ingress port at which PFC pauses it (Xoff)",
          .unit = "kB",
          .absent = "1000 kB, assumed",
          .range = Range::positive,
          .moves = "pause_after rises"});
  v("watchdog_time", s.watchdog_time,
    Field{.doc =
              "duration of a pause after which the watchdog drops the packets queued for that port",
          .unit = "ms",
          .absent = "200 ms, if there is a pfc_watchdog",
          .range = Range::positive,
          .moves = "storm_time rises"});
}

// Ports of the hosts on a network.
template <class V, Is<Network> S>
void visit_ports(V& v, S& s) {
  v("ports_per_node", s.ports_per_node,
    Field{.doc = "ports per host on this network",
          .absent = "compute: its NICs; storage: 2; management: 1",
          .range = Range::at_least_one,
          .moves = "per_node rises"});
  v("port_rate", s.port_rate,
    Field{.doc = "rate of one such port, per direction",
          .unit = "Gb/s",
          .absent = "the rate of the node's NIC or of the switch",
          .range = Range::positive,
          .moves = "per_node rises"});
}

template <class V, Is<Network> S>
void visit_fields(V& v, S& s) {
  v("topology", s.topology,
    Field{.doc = "how the switches are connected", .moves = "cables changes"});
  v("switch", s.switch_part,
    Field{.doc = "switch model",
          .part = Part::switch_part,
          .example = "qm9700",
          .moves = "price changes"});
  v("nic", s.nic,
    Field{.doc = "NIC bought for this network; empty is the node's own",
          .part = Part::nic,
          .moves = "capex changes"});
  v("link", s.link,
    Field{.doc = "optic or cable between switches; empty is chosen by rate and reach",
          .part = Part::optic,
          .moves = "price changes"});
  v("node_link", s.node_link,
    Field{.doc = "optic or cable at the node; empty is chosen by rate and reach",
          .part = Part::optic,
          .moves = "price changes"});
  v("routing", s.routing, Field{.doc = "how a flow picks its path", .moves = "worst_link changes"});
  v("protocol", s.protocol,
    Field{.doc = "protocol on the wire",
          .absent = "the switch's protocol",
          .moves = "rule fabric.roce-checklist"});
  v("oversubscription", s.oversubscription,
    Field{.doc = "bandwidth down to the nodes over bandwidth up to the spine, at the leaf",
          .range = Range::at_least_one,
          .moves = "bisection falls"});
  v("rails", s.rails,
    Field{.doc = "number of rails: NIC i of every host connects to rail i",
          .absent = "the number of the host's NICs on this network",
          .range = Range::at_least_one,
          .moves = "rule fabric.endpoints"});
  v("planes", s.planes,
    Field{.doc = "independent copies of the network",
          .range = Range::at_least_one,
          .moves = "spine_switches changes"});
  v("sharp", s.sharp,
    Field{.doc = "in-network reduction (SHARP) in the switches", .moves = "all_reduce_1gib falls"});
  v("queue_pairs", s.queue_pairs,
    Field{.doc = "queue pairs per connection",
          .range = Range::at_least_one,
          .moves = "worst_link falls"});
  v("roce", s.roce, Field{.doc = "the checklist for lossless Ethernet"});
  v("converged", s.converged,
    Field{.doc = "storage network only: its traffic runs over the compute network",
          .moves = "rule fabric.separate-storage"});
  v("dimensions", s.dimensions,
    Field{.doc = "dimensions of a torus",
          .range = Range::at_least_one,
          .example = "[4, 4, 8]",
          .moves = "rule fabric.buildable"});
  v("groups", s.groups,
    Field{.doc = "groups of a dragonfly",
          .absent = "computed",
          .range = Range::at_least_one,
          .not_yet =
              "a dragonfly is always built balanced; the number of groups follows from its size"});
  visit_ports(v, s);
  v("encrypted", s.encrypted,
    Field{.doc = "traffic on this network is encrypted",
          .moves = "rule policy.encryption-in-transit"});
}

template <class V, Is<WanLink> S>
void visit_fields(V& v, S& s) {
  v("between", s.between,
    Field{.doc = "names of the two sites",
          .required = true,
          .example = "[east, west]",
          .moves = "rule fabric.sites-joined"});
  v("rate", s.rate,
    Field{.doc = "rate of the line, per direction",
          .unit = "Gb/s",
          .range = Range::positive,
          .required = true,
          .example = "10 Gb/s",
          .moves = "wan_rate rises"});
  v("latency", s.latency,
    Field{.doc = "round-trip time",
          .unit = "ms",
          .range = Range::positive,
          .required = true,
          .example = "60 ms",
          .moves = "wan_latency rises"});
  v("price", s.price,
    Field{.doc = "yearly rent of the line",
          .unit = "kUSD/y",
          .absent = "none",
          .moves = "annual rises"});
}

template <class V, Is<Networks> S>
void visit_fields(V& v, S& s) {
  v("compute", s.compute, Field{.doc = "the network between accelerators"});
  v("storage", s.storage, Field{.doc = "the network between nodes and storage"});
  v("management", s.management,
    Field{.doc = "the network for management, in band and out of band"});
  v("wan", s.wan,
    Field{.doc = "lines between sites; each site has compute, storage and management networks of "
                 "its own",
          .moves = "rule fabric.sites-joined"});
}

template <class V, Is<Protection> S>
void visit_fields(V& v, S& s) {
  v("data", s.data,
    Field{.doc = "data shards of the erasure code; 1 means whole copies",
          .range = Range::at_least_one,
          .required = true,
          .example = "8",
          .moves = "capacity rises"});
  v("parity", s.parity,
    Field{.doc = "parity shards, or further copies: this many may be lost",
          .required = true,
          .example = "2",
          .moves = "nines rises"});
}

template <class V, Is<Metadata> S>
void visit_fields(V& v, S& s) {
  v("servers", s.servers,
    Field{.doc = "number of metadata servers",
          .absent = "1",
          .range = Range::at_least_one,
          .moves = "write_time falls"});
  v("creates", s.creates,
    Field{.doc = "files that one metadata server creates per second",
          .unit = "/s",
          .absent = "the storage model's figure for the kind",
          .range = Range::positive,
          .moves = "write_time falls"});
}

// What the tier serves and what it costs; the fields about its parts follow below.
template <class V, Is<StorageTier> S>
void visit_tier_service(V& v, S& s) {
  constexpr std::string_view kByKind = "the storage model's figure for the kind";
  v("metadata", s.metadata, Field{.doc = "the tier's metadata service"});
  v("client_streams", s.client_streams,
    Field{.doc = "parallel requests per node",
          .absent = kByKind,
          .range = Range::at_least_one,
          .moves = "accelerator_utilisation rises"});
  v("stream_rate", s.stream_rate,
    Field{.doc = "rate of one request's stream",
          .unit = "GB/s",
          .absent = kByKind,
          .range = Range::positive,
          .moves = "accelerator_utilisation rises"});
  v("first_byte", s.first_byte,
    Field{.doc = "time to the first byte of a request",
          .unit = "ms",
          .absent = kByKind,
          .moves = "accelerator_utilisation falls"});
  v("policy", s.policy,
    Field{.doc = "eviction policy, if the tier caches another tier",
          .moves = "accelerator_utilisation changes"});
  v("caches", s.caches,
    Field{.doc = "name of the tier that it caches; empty is none",
          .moves = "accelerator_utilisation changes"});
  v("encrypted", s.encrypted,
    Field{.doc = "the tier encrypts what it stores, which takes cores of its servers",
          .moves = "rule policy.encryption-at-rest"});
  v("versioned", s.versioned,
    Field{.doc = "the tier keeps copies that a deletion cannot reach", .moves = "used rises"});
  v("price", s.price,
    Field{.doc = "rent per GB and month",
          .unit = "USD/GB/month",
          .absent = "the provider's list price",
          .moves = "annual rises"});
  v("capex", s.capex,
    Field{.doc = "purchase price per usable capacity",
          .unit = "USD/TB",
          .absent = "the device's",
          .moves = "annual rises"});
  v("egress_price", s.egress_price,
    Field{.doc = "price of data read by workloads that run outside its provider",
          .unit = "USD/GB",
          .absent = "AWS's price steps",
          .moves = "annual rises"});
}

// The parts of the tier and the rates and capacity that they give.
template <class V, Is<StorageTier> S>
void visit_tier_build(V& v, S& s) {
  v("device", s.device,
    Field{.doc = "model of drive or appliance",
          .absent = "the usual device for the kind",
          .part = Part::storage_device,
          .moves = "annual changes"});
  v("servers", s.servers,
    Field{.doc = "storage servers",
          .absent = "the fewest that meet capacity, rates and the needs of the workloads",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "annual rises"});
  v("devices_per_server", s.devices_per_server,
    Field{.doc = "drives per server",
          .absent = "1; 24 if the number of servers is computed",
          .range = Range::at_least_one,
          .moves = "annual rises"});
  v("read", s.read,
    Field{.doc = "read rate of the whole tier",
          .unit = "GB/s",
          .absent = "computed from servers and device",
          .range = Range::positive,
          .moves = "restore_time falls"});
  v("write", s.write,
    Field{.doc = "write rate of the whole tier",
          .unit = "GB/s",
          .absent = "computed from servers and device",
          .range = Range::positive,
          .moves = "write_time falls"});
  v("server_network", s.server_network,
    Field{.doc = "network rate of one server, per direction",
          .unit = "Gb/s",
          .absent = "not a limit",
          .range = Range::positive,
          .moves = "write_time falls"});
  v("server_cores", s.server_cores,
    Field{.doc = "CPU cores per server, which move, erasure-code and encrypt what it stores",
          .absent = "64, assumed; an appliance has its own",
          .range = Range::at_least_one,
          .moves = "write_time falls"});
  v("capacity", s.capacity,
    Field{.doc = "usable capacity",
          .unit = "PB",
          .absent = "computed from servers and device",
          .range = Range::positive,
          .moves = "capacity rises"});
  v("usable", s.usable,
    Field{.doc = "usable share of the raw capacity",
          .absent = "0.8 of what `protection` leaves; 1 for an appliance",
          .range = Range::positive_fraction,
          .moves = "capacity rises"});
  v("protection", s.protection,
    Field{.doc = "erasure code or copies that protect data against drive failures",
          .absent = "8 + 2, assumed"});
}

template <class V, Is<StorageTier> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "how workloads refer to the tier; empty is the word in `tier`", .moves = "label"});
  v("profile", s.profile,
    Field{.doc = "a named set of these fields, used for those not written here; empty is none",
          .part = Part::storage_profile,
          .moves = "capacity changes"});
  v("tier", s.tier,
    Field{.doc = "class of the tier, by how quickly it answers",
          .required = true,
          .example = "hot",
          .moves = "latency changes"});
  v("kind", s.kind,
    Field{.doc = "kind of store",
          .required = true,
          .example = "parallel-fs",
          .moves = "write_time changes"});
  v("site", s.site,
    Field{.doc = "name of the site that the tier is in; empty is the first site",
          .moves = "annual changes"});
  v("region", s.region,
    Field{.doc = "region of a cloud store outside the sites; empty is the site's",
          .part = Part::region,
          .moves = "rule policy.residency"});
  v("provider", s.provider,
    Field{.doc = "cloud provider that the tier is rented from; empty is owned",
          .part = Part::provider,
          .moves = "annual changes"});
  v("place", s.place,
    Field{.doc = "where `orrery store` keeps this tier's data: `rados:POOL/NAMESPACE`, or for warm "
                 "and cold tiers `s3+https://HOST/BUCKET/PREFIX`; empty is local folders",
          .moves = "emit store"});
  visit_tier_build(v, s);
  visit_tier_service(v, s);
}

template <class V, Is<Quota> S>
void visit_fields(V& v, S& s) {
  v("tenant", s.tenant,
    Field{.doc = "tenant that the quota is for",
          .required = true,
          .example = "research",
          .moves = "emit "});
  v("share", s.share,
    Field{.doc = "largest share of the fleet",
          .absent = "none",
          .range = Range::fraction,
          .moves = "emit "});
  v("accelerators", s.accelerators,
    Field{.doc = "most accelerators at a time", .absent = "no limit", .moves = "emit "});
}

template <class V, Is<SchedulerPartition> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "name of the partition",
          .required = true,
          .example = "batch",
          .moves = "emit slurm"});
  v("fleet", s.fleet,
    Field{.doc = "fleet that the nodes belong to; empty is the first fleet that Slurm runs",
          .moves = "emit slurm"});
  v("nodes", s.nodes,
    Field{.doc = "number of nodes, separate from those of other partitions",
          .absent = "all nodes of the fleet",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("time_limit", s.time_limit,
    Field{
        .doc =
            "longest run time of a job: jobs and batches end there, a training run is queued again",
        .unit = "d",
        .absent = "none",
        .moves = "emit slurm"});
}

template <class V, Is<Qos> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "name of the QOS", .required = true, .example = "urgent", .moves = "label"});
  v("priority", s.priority,
    Field{.doc = "its jobs come before those of a QOS with lower priority, within a workload's "
                 "`priority`",
          .moves = "emit slurm"});
  v("max_nodes", s.max_nodes,
    Field{.doc = "most nodes that all its jobs together hold",
          .absent = "no limit",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("max_nodes_per_user", s.max_nodes_per_user,
    Field{.doc = "most nodes that one user's jobs in it hold together",
          .absent = "no limit",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("max_jobs_per_user", s.max_jobs_per_user,
    Field{.doc = "most jobs that it runs at once for one user",
          .absent = "no limit",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("time_limit", s.time_limit,
    Field{.doc = "longest run time of a job, after which it is ended; for workloads of kind `jobs` "
                 "and `batch` only",
          .unit = "h",
          .absent = "none",
          .range = Range::positive,
          .moves = "emit slurm"});
  v("preempts", s.preempts,
    Field{.doc = "other QOS whose jobs its own jobs may preempt, as `preemption` says",
          .moves = "emit slurm"});
}

template <class V, Is<Reservation> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "name of the reservation",
          .required = true,
          .example = "firmware",
          .moves = "label"});
  v("fleet", s.fleet,
    Field{.doc = "fleet that the nodes belong to; empty is Slurm's first fleet",
          .moves = "emit slurm"});
  v("nodes", s.nodes,
    Field{.doc = "number of nodes, counted from the end of the fleet",
          .absent = "all nodes of the fleet",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("start", s.start,
    Field{.doc = "start of the first window, after the start of the run or of the cluster",
          .unit = "d",
          .required = true,
          .example = "3 d",
          .moves = "emit slurm"});
  v("duration", s.duration,
    Field{.doc = "length of a window",
          .unit = "h",
          .range = Range::positive,
          .required = true,
          .example = "4 h",
          .moves = "emit slurm"});
  v("repeat", s.repeat,
    Field{.doc = "how often the window repeats, in Slurm's words", .moves = "emit slurm"});
  v("tenants", s.tenants,
    Field{.doc = "tenants whose workloads may use the nodes; empty is none: maintenance",
          .example = "[physics]",
          .moves = "emit slurm"});
}

template <class V, Is<Recovery> S>
void visit_fields(V& v, S& s) {
  constexpr std::string_view kPublished = "the failure model's figure";
  v("detect", s.detect,
    Field{.doc = "time from a fault to the alarm",
          .unit = "s",
          .absent = kPublished,
          .moves = "restart rises"});
  v("hang_timeout", s.hang_timeout,
    Field{.doc = "time until a run that hangs silently is declared dead",
          .unit = "min",
          .absent = "10 min, the default of collective libraries",
          .range = Range::positive,
          .moves = "restart rises"});
  v("requeue", s.requeue,
    Field{.doc = "time to drain the node, pick a spare and start the job again",
          .unit = "s",
          .absent = kPublished,
          .moves = "restart rises"});
  v("restart", s.restart,
    Field{.doc = "time to initialise and warm up, without reading the checkpoint",
          .unit = "s",
          .absent = kPublished,
          .moves = "restart rises"});
  v("automatic", s.automatic, Field{.doc = "recovery needs no person", .moves = "restart falls"});
  v("operator_response", s.operator_response,
    Field{.doc = "time until a person acts, if recovery is not automatic",
          .unit = "min",
          .absent = kPublished,
          .moves = "restart rises"});
}

template <class V, Is<Scheduler> S>
void visit_fields(V& v, S& s) {
  v("kind", s.kind, Field{.doc = "the scheduler's software", .moves = "emit "});
  v("backfill", s.backfill, Field{.doc = "variant of backfilling", .moves = "emit slurm"});
  v("topology", s.topology,
    Field{.doc = "what the scheduler knows of the network when it places jobs",
          .moves = "emit slurm"});
  v("preemption", s.preemption,
    Field{.doc = "what happens to a job that is preempted", .moves = "emit "});
  v("gang", s.gang,
    Field{.doc = "a job starts with all its nodes or not at all", .moves = "rule cluster.gangs"});
  v("fair_share", s.fair_share,
    Field{.doc = "past use lowers a tenant's priority", .moves = "emit kubernetes"});
  v("fair_share_by", s.fair_share_by,
    Field{.doc = "how fair share is computed, if `fair_share` is on: Fair Tree (users ranked "
                 "within ranked accounts), or 2^(-use / share) for each, Slurm's rule before 19.05",
          .moves = "emit slurm"});
  v("power_aware", s.power_aware,
    Field{.doc = "a job starts only if the site's power covers its highest draw in addition to all "
                 "running jobs; under Slurm, kilowatts are licenses",
          .moves = "emit slurm"});
  v("quotas", s.quotas, Field{.doc = "the most that each tenant may use", .moves = "emit "});
  v("partitions", s.partitions,
    Field{.doc = "Slurm partitions of the fleets", .moves = "emit slurm"});
  v("qos", s.qos,
    Field{.doc = "Slurm's qualities of service, which workloads name", .moves = "emit slurm"});
  v("reservations", s.reservations,
    Field{.doc = "nodes set aside at certain times, for some tenants or for maintenance"});
  v("recovery", s.recovery, Field{.doc = "how long each step takes from a fault to useful work"});
}

}  // namespace orrery::design
