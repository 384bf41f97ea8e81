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
    Field{.doc = "priority flow control, on the RDMA class only",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("ecn", s.ecn,
    Field{.doc = "marking well below the pause threshold",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("dedicated_queue", s.dedicated_queue,
    Field{.doc = "RDMA has a queue of its own",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("hash_spread", s.hash_spread,
    Field{.doc = "enough entropy for the hash: several queue pairs, or spraying",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("pfc_watchdog", s.pfc_watchdog,
    Field{.doc = "breaks a pause storm", .absent = kAsked, .moves = "rule fabric.roce-checklist"});
  v("headroom_checked", s.headroom_checked,
    Field{.doc = "buffer headroom fits cable length and rate",
          .absent = kAsked,
          .moves = "rule fabric.roce-checklist"});
  v("ecn_kmin", s.ecn_kmin,
    Field{.doc = "egress queue at which marking begins",
          .unit = "kB",
          .absent = "150 kB, as NVIDIA's switches set it",
          .range = Range::positive,
          .moves = "marked_queue rises"});
  v("ecn_kmax", s.ecn_kmax,
    Field{.doc = "egress queue above which every packet is marked, above ecn_kmin",
          .unit = "kB",
          .absent = "1500 kB, likewise",
          .range = Range::positive,
          .moves = "marked_queue rises"});
  v("ecn_pmax", s.ecn_pmax,
    Field{.doc = "share of packets marked at ecn_kmax",
          .absent = "1",
          .range = Range::positive_fraction,
          .moves = "marked_queue falls"});
  v("xoff", s.xoff,
    Field{.doc = "what came by one port and waits, at which that port is paused",
          .unit = "kB",
          .absent = "1000 kB, assumed",
          .range = Range::positive,
          .moves = "pause_after rises"});
  v("watchdog_time", s.watchdog_time,
    Field{.doc = "how long a pause lasts before the watchdog drops what waits for that port",
          .unit = "ms",
          .absent = "200 ms where there is a pfc_watchdog",
          .range = Range::positive,
          .moves = "storm_time rises"});
}

template <class V, Is<Network> S>
void visit_fields(V& v, S& s) {
  v("topology", s.topology, Field{.doc = "how switches are joined", .moves = "cables changes"});
  v("switch", s.switch_part,
    Field{
        .doc = "switch", .part = Part::switch_part, .example = "qm9700", .moves = "price changes"});
  v("nic", s.nic,
    Field{.doc = "NIC bought for it; empty is the node's own",
          .part = Part::nic,
          .moves = "capex changes"});
  v("link", s.link,
    Field{.doc = "optic or cable between switches; empty is chosen by rate and reach",
          .part = Part::optic,
          .moves = "price changes"});
  v("node_link", s.node_link,
    Field{.doc = "optic or cable at the node; empty is chosen likewise",
          .part = Part::optic,
          .moves = "price changes"});
  v("routing", s.routing, Field{.doc = "how a flow picks its path", .moves = "worst_link changes"});
  v("protocol", s.protocol,
    Field{.doc = "what runs on the wire",
          .absent = "what the switch speaks",
          .moves = "rule fabric.roce-checklist"});
  v("oversubscription", s.oversubscription,
    Field{.doc = "bandwidth down over bandwidth up at the leaf",
          .range = Range::at_least_one,
          .moves = "bisection falls"});
  v("rails", s.rails,
    Field{.doc = "rails: NIC i of every host hangs on rail i",
          .absent = "the host's NICs on this network",
          .range = Range::at_least_one,
          .moves = "rule fabric.endpoints"});
  v("planes", s.planes,
    Field{.doc = "independent copies of the network",
          .range = Range::at_least_one,
          .moves = "spine_switches changes"});
  v("sharp", s.sharp, Field{.doc = "reduction in the switches", .moves = "all_reduce_1gib falls"});
  v("queue_pairs", s.queue_pairs,
    Field{.doc = "of one connection", .range = Range::at_least_one, .moves = "worst_link falls"});
  v("roce", s.roce, Field{.doc = "the checklist of a lossless Ethernet"});
  v("converged", s.converged,
    Field{.doc = "of the storage network: its traffic runs over the compute network",
          .moves = "rule fabric.separate-storage"});
  v("dimensions", s.dimensions,
    Field{.doc = "of a torus",
          .range = Range::at_least_one,
          .example = "[4, 4, 8]",
          .moves = "rule fabric.buildable"});
  v("groups", s.groups,
    Field{.doc = "of a dragonfly",
          .absent = "computed",
          .range = Range::at_least_one,
          .not_yet = "a dragonfly is built balanced, with the groups that follow from its size"});
  v("ports_per_node", s.ports_per_node,
    Field{.doc = "ports of one host on this network",
          .absent = "compute: its NICs; storage: 2; management: 1",
          .range = Range::at_least_one,
          .moves = "per_node rises"});
  v("port_rate", s.port_rate,
    Field{.doc = "of one of them, per direction",
          .unit = "Gb/s",
          .absent = "the node's or the switch's",
          .range = Range::positive,
          .moves = "per_node rises"});
  v("encrypted", s.encrypted,
    Field{.doc = "what it carries is encrypted", .moves = "rule policy.encryption-in-transit"});
}

template <class V, Is<WanLink> S>
void visit_fields(V& v, S& s) {
  v("between", s.between,
    Field{.doc = "names of the two sites",
          .required = true,
          .example = "[east, west]",
          .moves = "rule fabric.sites-joined"});
  v("rate", s.rate,
    Field{.doc = "per direction",
          .unit = "Gb/s",
          .range = Range::positive,
          .required = true,
          .example = "10 Gb/s",
          .moves = "wan_rate rises"});
  v("latency", s.latency,
    Field{.doc = "round trip",
          .unit = "ms",
          .range = Range::positive,
          .required = true,
          .example = "60 ms",
          .moves = "wan_latency rises"});
  v("price", s.price,
    Field{.doc = "rent of the line", .unit = "kUSD/y", .absent = "none", .moves = "annual rises"});
}

template <class V, Is<Networks> S>
void visit_fields(V& v, S& s) {
  v("compute", s.compute, Field{.doc = "joins the accelerators"});
  v("storage", s.storage, Field{.doc = "joins nodes and storage"});
  v("management", s.management, Field{.doc = "in band and out of band"});
  v("wan", s.wan,
    Field{.doc = "lines between sites; every site has the networks above to itself",
          .moves = "rule fabric.sites-joined"});
}

template <class V, Is<Protection> S>
void visit_fields(V& v, S& s) {
  v("data", s.data,
    Field{.doc = "shards that hold the data; 1: copies",
          .range = Range::at_least_one,
          .required = true,
          .example = "8",
          .moves = "capacity rises"});
  v("parity", s.parity,
    Field{.doc = "shards or further copies, as many of which may be lost",
          .required = true,
          .example = "2",
          .moves = "nines rises"});
}

template <class V, Is<Metadata> S>
void visit_fields(V& v, S& s) {
  v("servers", s.servers,
    Field{.doc = "metadata servers",
          .absent = "1",
          .range = Range::at_least_one,
          .moves = "write_time falls"});
  v("creates", s.creates,
    Field{.doc = "files one of them creates in a second",
          .unit = "/s",
          .absent = "the storage model's figure for the kind",
          .range = Range::positive,
          .moves = "write_time falls"});
}

// What it serves and what it costs, behind what it is made of.
template <class V, Is<StorageTier> S>
void visit_tier_service(V& v, S& s) {
  constexpr std::string_view kByKind = "the storage model's figure for the kind";
  v("metadata", s.metadata, Field{.doc = "metadata service"});
  v("client_streams", s.client_streams,
    Field{.doc = "parallel requests of one node",
          .absent = kByKind,
          .range = Range::at_least_one,
          .moves = "accelerator_utilisation rises"});
  v("stream_rate", s.stream_rate,
    Field{.doc = "of one request",
          .unit = "GB/s",
          .absent = kByKind,
          .range = Range::positive,
          .moves = "accelerator_utilisation rises"});
  v("first_byte", s.first_byte,
    Field{.doc = "until a request's first byte",
          .unit = "ms",
          .absent = kByKind,
          .moves = "accelerator_utilisation falls"});
  v("policy", s.policy,
    Field{.doc = "which data leave first, where it caches another tier",
          .moves = "accelerator_utilisation changes"});
  v("caches", s.caches,
    Field{.doc = "name of the tier it caches; empty is none",
          .moves = "accelerator_utilisation changes"});
  v("encrypted", s.encrypted,
    Field{.doc = "what it stores is encrypted, which takes cores of its servers",
          .moves = "rule policy.encryption-at-rest"});
  v("versioned", s.versioned,
    Field{.doc = "keeps copies that a deletion cannot reach", .moves = "used rises"});
  v("price", s.price,
    Field{.doc = "rent",
          .unit = "USD/GB/month",
          .absent = "the provider's list price",
          .moves = "annual rises"});
  v("capex", s.capex,
    Field{.doc = "purchase, of usable capacity",
          .unit = "USD/TB",
          .absent = "the device's",
          .moves = "annual rises"});
  v("egress_price", s.egress_price,
    Field{.doc = "of data that runs outside its provider read",
          .unit = "USD/GB",
          .absent = "AWS's steps",
          .moves = "annual rises"});
}

// What it is made of and what that gives.
template <class V, Is<StorageTier> S>
void visit_tier_build(V& v, S& s) {
  v("device", s.device,
    Field{.doc = "drive or appliance",
          .absent = "the usual one of the kind",
          .part = Part::storage_device,
          .moves = "annual changes"});
  v("servers", s.servers,
    Field{.doc = "storage servers",
          .absent = "the fewest that give what capacity, rates and workloads ask for",
          .range = Range::at_least_one,
          .automatic = true,
          .moves = "annual rises"});
  v("devices_per_server", s.devices_per_server,
    Field{.doc = "drives in one",
          .absent = "1; 24 where the servers are computed",
          .range = Range::at_least_one,
          .moves = "annual rises"});
  v("read", s.read,
    Field{.doc = "of the whole tier",
          .unit = "GB/s",
          .absent = "from servers and device",
          .range = Range::positive,
          .moves = "restore_time falls"});
  v("write", s.write,
    Field{.doc = "of the whole tier",
          .unit = "GB/s",
          .absent = "from servers and device",
          .range = Range::positive,
          .moves = "write_time falls"});
  v("server_network", s.server_network,
    Field{.doc = "of one server, per direction",
          .unit = "Gb/s",
          .absent = "not a limit",
          .range = Range::positive,
          .moves = "write_time falls"});
  v("server_cores", s.server_cores,
    Field{.doc = "cores of one server, which move, code and encrypt what it stores",
          .absent = "64, assumed; what is sold whole has its own",
          .range = Range::at_least_one,
          .moves = "write_time falls"});
  v("capacity", s.capacity,
    Field{.doc = "usable",
          .unit = "PB",
          .absent = "from servers and device",
          .range = Range::positive,
          .moves = "capacity rises"});
  v("usable", s.usable,
    Field{.doc = "share of the raw capacity",
          .absent = "0.8 of what `protection` leaves; 1 of an appliance",
          .range = Range::positive_fraction,
          .moves = "capacity rises"});
  v("protection", s.protection,
    Field{.doc = "how data outlives its drives", .absent = "8 + 2, assumed"});
}

template <class V, Is<StorageTier> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "how workloads refer to it; empty is the tier's word", .moves = "label"});
  v("profile", s.profile,
    Field{.doc = "a named set of these fields, for those that are not written here; empty is none",
          .part = Part::storage_profile,
          .moves = "capacity changes"});
  v("tier", s.tier,
    Field{
        .doc = "which tier it is", .required = true, .example = "hot", .moves = "latency changes"});
  v("kind", s.kind,
    Field{.doc = "what it is",
          .required = true,
          .example = "parallel-fs",
          .moves = "write_time changes"});
  v("site", s.site,
    Field{.doc = "name of its site; empty is the first", .moves = "annual changes"});
  v("region", s.region,
    Field{.doc = "of a cloud store outside the sites; empty is the site's",
          .part = Part::region,
          .moves = "rule policy.residency"});
  v("provider", s.provider,
    Field{.doc = "cloud it is rented from; empty is owned",
          .part = Part::provider,
          .moves = "annual changes"});
  v("place", s.place,
    Field{.doc = "what lies beneath it in `orrery store`: `rados:POOL/NAMESPACE`, or of warm and "
                 "cold `s3+https://HOST/BUCKET/PREFIX`; empty is folders",
          .moves = "emit store"});
  visit_tier_build(v, s);
  visit_tier_service(v, s);
}

template <class V, Is<Quota> S>
void visit_fields(V& v, S& s) {
  v("tenant", s.tenant,
    Field{.doc = "whose", .required = true, .example = "research", .moves = "emit "});
  v("share", s.share,
    Field{.doc = "of the fleet", .absent = "none", .range = Range::fraction, .moves = "emit "});
  v("accelerators", s.accelerators,
    Field{.doc = "at most", .absent = "no limit", .moves = "emit "});
}

template <class V, Is<SchedulerPartition> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "its name", .required = true, .example = "batch", .moves = "emit slurm"});
  v("fleet", s.fleet,
    Field{.doc = "whose nodes; empty is the first fleet that Slurm runs", .moves = "emit slurm"});
  v("nodes", s.nodes,
    Field{.doc = "how many, apart from those of other partitions",
          .absent = "all of the fleet",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("time_limit", s.time_limit,
    Field{.doc = "of a job: jobs and batches end there, a training run is queued again",
          .unit = "d",
          .absent = "none",
          .moves = "emit slurm"});
}

template <class V, Is<Qos> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "its name", .required = true, .example = "urgent", .moves = "label"});
  v("priority", s.priority,
    Field{.doc = "its jobs come before those of a lower one, within a workload's `priority`",
          .moves = "emit slurm"});
  v("max_nodes", s.max_nodes,
    Field{.doc = "that all its jobs together hold",
          .absent = "no limit",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("max_nodes_per_user", s.max_nodes_per_user,
    Field{.doc = "that one user's jobs of it hold together",
          .absent = "no limit",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("max_jobs_per_user", s.max_jobs_per_user,
    Field{.doc = "of it that run at once for one user",
          .absent = "no limit",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("time_limit", s.time_limit,
    Field{.doc = "a job of it that runs longer is ended; of `jobs` and `batch` alone",
          .unit = "h",
          .absent = "none",
          .range = Range::positive,
          .moves = "emit slurm"});
  v("preempts", s.preempts,
    Field{.doc = "QOS whose jobs give way to its own, as `preemption` says",
          .moves = "emit slurm"});
}

template <class V, Is<Reservation> S>
void visit_fields(V& v, S& s) {
  v("name", s.name,
    Field{.doc = "its name", .required = true, .example = "firmware", .moves = "label"});
  v("fleet", s.fleet,
    Field{.doc = "whose nodes; empty is Slurm's first fleet", .moves = "emit slurm"});
  v("nodes", s.nodes,
    Field{.doc = "how many, the last of the fleet",
          .absent = "all of the fleet",
          .range = Range::at_least_one,
          .moves = "emit slurm"});
  v("start", s.start,
    Field{.doc = "of the first window, from the beginning of a run or of the cluster",
          .unit = "d",
          .required = true,
          .example = "3 d",
          .moves = "emit slurm"});
  v("duration", s.duration,
    Field{.doc = "of a window",
          .unit = "h",
          .range = Range::positive,
          .required = true,
          .example = "4 h",
          .moves = "emit slurm"});
  v("repeat", s.repeat,
    Field{.doc = "when it comes back, as Slurm repeats a reservation", .moves = "emit slurm"});
  v("tenants", s.tenants,
    Field{.doc = "whose workloads may use it; empty is nobody: maintenance",
          .example = "[physics]",
          .moves = "emit slurm"});
}

template <class V, Is<Recovery> S>
void visit_fields(V& v, S& s) {
  constexpr std::string_view kPublished = "the failure model's figure";
  v("detect", s.detect,
    Field{.doc = "from the fault to the alarm",
          .unit = "s",
          .absent = kPublished,
          .moves = "restart rises"});
  v("hang_timeout", s.hang_timeout,
    Field{.doc = "until a run that hangs without a word is taken for dead",
          .unit = "min",
          .absent = "10 min, the collectives' default",
          .range = Range::positive,
          .moves = "restart rises"});
  v("requeue", s.requeue,
    Field{.doc = "drain, pick a spare, start again",
          .unit = "s",
          .absent = kPublished,
          .moves = "restart rises"});
  v("restart", s.restart,
    Field{.doc = "initialise and warm up, without reading the checkpoint",
          .unit = "s",
          .absent = kPublished,
          .moves = "restart rises"});
  v("automatic", s.automatic, Field{.doc = "no person has to act", .moves = "restart falls"});
  v("operator_response", s.operator_response,
    Field{.doc = "until the person acts, where not automatic",
          .unit = "min",
          .absent = kPublished,
          .moves = "restart rises"});
}

template <class V, Is<Scheduler> S>
void visit_fields(V& v, S& s) {
  v("kind", s.kind, Field{.doc = "which scheduler", .moves = "emit "});
  v("backfill", s.backfill, Field{.doc = "which variant of backfilling", .moves = "emit slurm"});
  v("topology", s.topology,
    Field{.doc = "what placement knows of the network", .moves = "emit slurm"});
  v("preemption", s.preemption,
    Field{.doc = "what happens to a job that must yield", .moves = "emit "});
  v("gang", s.gang,
    Field{.doc = "a job starts whole or not at all", .moves = "rule cluster.gangs"});
  v("fair_share", s.fair_share,
    Field{.doc = "past use lowers priority", .moves = "emit kubernetes"});
  v("fair_share_by", s.fair_share_by,
    Field{.doc = "how: users ranked within ranked accounts, or 2^(-use / share) of each, as Slurm "
                 "had it before 19.05; where `fair_share` is on",
          .moves = "emit slurm"});
  v("power_aware", s.power_aware,
    Field{.doc =
              "a job starts only where the site's power carries its highest draw beside all that "
              "runs; under Slurm, kilowatts are licenses",
          .moves = "emit slurm"});
  v("quotas", s.quotas, Field{.doc = "what tenants may use", .moves = "emit "});
  v("partitions", s.partitions, Field{.doc = "parts of the fleets", .moves = "emit slurm"});
  v("qos", s.qos,
    Field{.doc = "qualities of service under Slurm, which workloads name", .moves = "emit slurm"});
  v("reservations", s.reservations,
    Field{.doc = "nodes that are set aside at times, for some or for maintenance"});
  v("recovery", s.recovery, Field{.doc = "from a fault to useful work again"});
}

}  // namespace orrery::design
