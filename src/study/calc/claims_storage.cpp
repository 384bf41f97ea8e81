// Claims about storage tiers: latency, bandwidth, scale-out, host CPU, and what starved GPUs lose.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/csv.h"
#include "core/base/text.h"
#include "layers/storage/dataset.h"
#include "layers/storage/guidance.h"
#include "layers/storage/loader.h"
#include "layers/storage/scale_out.h"
#include "layers/storage/tier_sizing.h"
#include "study/calc/claim_trial.h"

namespace orrery::calc {
namespace {

constexpr const char* kLoaderPage = "docs/models/loader.md";
constexpr const char* kStoragePage = "docs/models/storage.md";
// A scalable unit of the H100 reference architecture.
constexpr double kUnitGpus = 256;

// One accelerator in an MLPerf Storage workload.
struct Reader {
  std::string label;
  double batch = 0;
  Bytes sample;
  Seconds compute;
  Seconds decode;
  Bytes decoded;

  BytesPerSecond demand() const { return storage::ideal_read_rate(batch, sample, compute); }
};

Reader mlperf_reader(const ClaimContext& c, std::string_view workload, std::string_view accelerator,
                     std::string_view kind) {
  Reader r{.label = fmt::format("{} on {}", workload, accelerator)};
  if (const auto t = c.models.knowledge->table("calibration/mlperf_storage_workloads.csv")) {
    for (const CsvRow& row : t->rows()) {
      if (t->text(row, "workload") != workload || t->text(row, "accelerator") != accelerator)
        continue;
      r.batch = t->number(row, "batch").value_or(0);
      r.sample = bytes(t->number(row, "record_bytes").value_or(0));
      r.compute = seconds(t->number(row, "compute_s_per_step").value_or(0));
    }
  }
  const storage::DatasetKind* k = find_dataset_kind(c.models.dataset_kinds, kind);
  if (k != nullptr) {
    r.decode = k->decode;
    r.decoded = k->decoded_sample;
  }
  return r;
}

// A language model's tokens: 70B at 1,000 tokens/s per GPU, about what an H100 trains.
Reader text_reader(const ClaimContext& c) {
  const double per_token = c.input("bytes-per-token").number();
  return {.label = "a 70B language model on H100",
          .batch = 1000,
          .sample = bytes(per_token),
          .compute = seconds(1),
          .decode = Seconds(),
          .decoded = bytes(per_token)};
}

std::vector<Reader> readers(const ClaimContext& c) {
  return {mlperf_reader(c, "resnet50", "a100", "image"),
          mlperf_reader(c, "resnet50", "h100", "image"),
          mlperf_reader(c, "unet3d", "h100", "volume"), text_reader(c)};
}

storage::LoaderRate loader(const ClaimContext& c, const Reader& r, BytesPerSecond fetch,
                           double cores) {
  return storage::load_rate({.batch = r.batch,
                             .sample = r.sample,
                             .compute = r.compute,
                             .fetch = fetch,
                             .cores = cores,
                             .decode = r.decode,
                             .decoded_sample = r.decoded,
                             .to_device = gbytes_per_s(c.input("pcie5-copy").number())});
}

double cores_per_gpu(const ClaimContext& c) { return c.input("dgx-h100-cores").number() / 8; }

BytesPerSecond guidance_read(const ClaimContext& c, double units, storage::GuidanceLevel level) {
  return guided_rate(
             c.models.storage_guidance,
             {.architecture = "SuperPOD H100", .metric = "read", .units = units, .level = level})
      .value_or(BytesPerSecond());
}

ClaimFinding util_4060(const ClaimContext& c) {
  ClaimFinding f{.criterion = between(0.40, 0.60, figures::Unit::ratio)};
  const BytesPerSecond store = guidance_read(c, 1, storage::GuidanceLevel::good);
  for (const Reader& r : readers(c)) {
    const storage::LoaderRate rate = loader(c, r, store / kUnitGpus, cores_per_gpu(c));
    try_case(f, fmt::format("256 GPUs, {}", r.label), computed(rate.utilisation, 0.1, kLoaderPage),
             fmt::format("{} per GPU of {} needed, limit {}",
                         show((store / kUnitGpus).base(), figures::Unit::bytes_per_s),
                         show(r.demand().base(), figures::Unit::bytes_per_s), to_text(rate.limit)));
  }
  f.only_if = fmt::format(
      "the store gives 0.40 to 0.60 of what the GPUs ask. At the least guided {} "
      "that is so for {}; heavier readers starve further, a language "
      "model does not notice",
      show(store.base(), figures::Unit::bytes_per_s), labels_of(f, true));
  return f;
}

// Four PCIe 5 drives per node, for its eight GPUs.
ClaimFinding util_90(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_least(0.90, figures::Unit::ratio)};
  const catalog::StorageDevice* drive = c.catalog().storage_device("tlc-gen5");
  if (drive == nullptr) return f;
  const BytesPerSecond fetch = drive->read * (4 * storage::kDeliveredShare / 8);
  const auto run = [&](const Reader& r, double cores) {
    const storage::LoaderRate rate = loader(c, r, fetch, cores);
    try_case(f, fmt::format("{}, {} cores per GPU", r.label, significant(cores, 3)),
             computed(rate.utilisation, 0.1, kLoaderPage),
             fmt::format("{} per GPU of {} needed, limit {}",
                         show(fetch.base(), figures::Unit::bytes_per_s),
                         show(r.demand().base(), figures::Unit::bytes_per_s), to_text(rate.limit)));
  };
  const Reader images = mlperf_reader(c, "resnet50", "h100", "image");
  run(images, cores_per_gpu(c));
  run(mlperf_reader(c, "unet3d", "h100", "volume"), cores_per_gpu(c));
  run(images, 4);
  const double needed =
      0.9 * storage::decode_cores_needed(images.batch, images.decode, images.compute);
  f.only_if = fmt::format(
      "the host decodes as fast: JPEG for one H100 takes {} cores, and a path "
      "past the host's memory does not decode",
      significant(needed, 3));
  return f;
}

bool has_role(const catalog::StorageDevice& d, std::string_view role) {
  return d.tier_role.find(role) != std::string::npos;
}

ClaimFinding gpu_direct_us(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_most(50e-6, figures::Unit::seconds)};
  double least = 1;
  for (const catalog::StorageDevice& d : c.catalog().storage_devices) {
    if (!has_role(d, "gpu-direct") || !d.read_latency) continue;
    try_case(f, d.name, fact(d.read_latency->base(), d.provenance), "read latency of the drive");
    least = std::min(least, d.read_latency->base());
  }
  f.instead = fmt::format("the flash alone takes {}, before any network or file system",
                          show(least, figures::Unit::seconds));
  return f;
}

ClaimFinding inference_latency(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_most(1e-3, figures::Unit::seconds)};
  for (const char* id :
       {"tlc-gen5", "qlc-122", "pfs-weka-node", "pfs-vast-ebox", "hdd-cmr24", "obj-hdd-node"}) {
    const catalog::StorageDevice* d = c.catalog().storage_device(id);
    if (d == nullptr || !d->read_latency) continue;
    try_case(f, d->name, fact(d->read_latency->base(), d->provenance), "catalog row");
  }
  f.only_if = fmt::format("weights and caches lie on flash; not on {}", labels_of(f, false));
  return f;
}

ClaimFinding hot_tier(const ClaimContext& c) {
  constexpr double kMulti = 2e12;
  ClaimFinding f{.criterion = at_least(kMulti, figures::Unit::bytes_per_s)};
  const BytesPerSecond unit = guidance_read(c, 1, storage::GuidanceLevel::best);
  for (const double gpus : {256.0, 1024.0, 16384.0}) {
    try_case(f, fmt::format("{} H100", grouped(static_cast<std::int64_t>(gpus))),
             computed((unit * (gpus / kUnitGpus)).base(), 0.1, "refarch_storage"),
             fmt::format("{} SU x {} (best guidance)", significant(gpus / kUnitGpus, 4),
                         show(unit.base(), figures::Unit::bytes_per_s)));
  }
  const double gpus = kUnitGpus * std::ceil(kMulti / unit.base());
  show_beside(f, "H100s that ask 2 TB/s at best guidance", figures::Unit::count,
              computed(gpus, 0.1, "refarch_storage"));
  for (const char* id : {"pfs-ddn-ai400x3", "pfs-ess6000", "obj-hdd-node"}) {
    const catalog::StorageDevice* d = c.catalog().storage_device(id);
    if (d == nullptr) continue;
    const storage::TierSize size = storage::size_tier(
        {.read = BytesPerSecond(kMulti)}, *d, {.protection = storage::kApplianceProtection});
    show_beside(f, "boxes for 2 TB/s: " + d->name, figures::Unit::count,
                fact(size.devices, d->provenance));
  }
  f.only_if = fmt::format("the cluster has {} H100 or more; 1,024 of them are guided to {} at best",
                          grouped(static_cast<std::int64_t>(gpus)),
                          show((unit * 4).base(), figures::Unit::bytes_per_s));
  return f;
}

// Checkpoints of the 1T shape on 10, 15, 20 and 30 data nodes of one system.
ClaimFinding scale_linear(const ClaimContext& c) {
  ClaimFinding f{.criterion = about(1, figures::Unit::factor)};
  f.criterion.text = "within 5 % of linear growth from the smallest system";
  const auto t = c.models.knowledge->table("validation/checkpoint_truth.csv");
  if (!t) return f;
  double first_nodes = 0;
  double first_rate = 0;
  std::vector<storage::ScaleOutRow> rows;
  for (const CsvRow& row : t->rows()) {
    const std::string_view config = t->text(row, "config");
    const auto nodes = parse_number(config.substr(0, config.find(' ')));
    const auto rate = t->number(row, "write_GiB_s");
    const auto size = t->number(row, "checkpoint_GiB");
    const auto time = t->number(row, "write_s");
    if (config.find("data nodes") == std::string_view::npos || !nodes || !rate || !size || !time)
      continue;
    rows.push_back({gib(*size), *nodes, seconds(*time)});
    if (t->text(row, "model") != "llama3-1t") continue;
    if (first_nodes == 0) {
      first_nodes = *nodes;
      first_rate = *rate;
      continue;
    }
    const double of_linear = *rate / (first_rate * *nodes / first_nodes);
    try_case(f, fmt::format("{} data nodes", *nodes),
             within(of_linear, 0.12, 0.12, Basis::measured, "validation/checkpoint_truth"),
             fmt::format("{} GiB/s / ({} x {} / {})", *rate, first_rate, *nodes, first_nodes));
  }
  if (rows.size() < 2) return f;
  const storage::ScaleOutFit fit = fit_scale_out(rows);
  // Solves (K1 t0 + S/b) / (K t0 + S/b) >= 0.95, with the same fixed cost on both sides.
  const Bytes size = rows.front().size;
  // time of a single node, in units of the fixed cost
  const double transfer = size / fit.per_server / fit.fixed;
  const double limit = std::floor((first_nodes + transfer * kAbout) / (1 - kAbout));
  show_beside(f, "fixed cost of every checkpoint", figures::Unit::seconds,
              computed(fit.fixed.base(), 0.3, kStoragePage), "fit of t = t0 + (S/K)/b");
  show_beside(f, "rate of one data node", figures::Unit::bytes_per_s,
              computed(fit.per_server.base(), 0.05, kStoragePage), "the same fit");
  show_beside(f, "nodes at which the fit falls to 0.95 of linear", figures::Unit::count,
              computed(limit, 0.3, kStoragePage));
  f.only_if = fmt::format(
      "the transfer is long compared with its fixed cost ({} in every checkpoint): up to {} nodes "
      "for {}; {} reach {}",
      show(fit.fixed.base(), figures::Unit::seconds), limit,
      show(size.base(), figures::Unit::bytes), labels_of(f, false),
      show(f.cases.back().figure.estimate.value, figures::Unit::ratio));
  return f;
}

ClaimFinding tcp_ceiling(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_most(0.95, figures::Unit::ratio)};
  f.criterion.text = "TCP reaches at most 95 % of a 400 Gb/s port";
  const double core = c.input("tcp-core").number();
  const double all = c.input("dgx-h100-cores").number();
  for (const double cores : {1.0, 4.0, 16.0, all}) {
    try_case(
        f, fmt::format("{} core{} on TCP", significant(cores, 3), cores > 1 ? "s" : ""),
        within(std::min(1.0, cores * core / 400), 0.3, 0.3, Basis::paper, "claims_inputs/tcp-core"),
        fmt::format("min(1, {} x {} / 400 Gb/s)", cores, core));
  }
  const double needed = 400 / core;
  show_beside(f, "cores that fill a 400 Gb/s port", figures::Unit::count,
              within(needed, 0.3, 0.3, Basis::paper, "claims_inputs/tcp-core"));
  show_beside(f, "cores for each GB/s", figures::Unit::count,
              within(8 / core, 0.3, 0.3, Basis::paper, "claims_inputs/tcp-core"));
  f.only_if = fmt::format(
      "fewer than {} cores serve each 400 Gb/s port; of the {} in a DGX H100 "
      "that is {}, a cost more than a ceiling",
      significant(std::ceil(needed), 3), all, show(needed / all, figures::Unit::ratio));
  return f;
}

ClaimFinding storage_100(const ClaimContext& c) {
  ClaimFinding f{.criterion = at_least(100e9, figures::Unit::bytes_per_s)};
  constexpr double kGpus = 1024;
  std::string enough;
  for (const Reader& r : readers(c)) {
    try_case(f, fmt::format("1,024 GPUs, {}", r.label),
             computed((r.demand() * kGpus).base(), 0.1, kLoaderPage),
             fmt::format("1024 x {}", show(r.demand().base(), figures::Unit::bytes_per_s)));
    const double gpus = std::ceil(gbytes_per_s(100) / r.demand());
    if (f.cases.back().meets) {
      enough += fmt::format("{}{} from {} GPUs on", enough.empty() ? "" : ", ", r.label, gpus);
    }
  }
  const BytesPerSecond text = text_reader(c).demand() * kGpus;
  f.only_if = fmt::format("it trains on images or volumes ({}); 1,024 GPUs on text read {}", enough,
                          show(text.base(), figures::Unit::bytes_per_s));
  return f;
}

constexpr std::array kStorageClaims = {
    ClaimRule{"util-4060", util_4060},         ClaimRule{"util-90", util_90},
    ClaimRule{"gpu-direct-us", gpu_direct_us}, ClaimRule{"hot-tier", hot_tier},
    ClaimRule{"scale-linear", scale_linear},   ClaimRule{"tcp-ceiling", tcp_ceiling},
    ClaimRule{"storage-100", storage_100},     ClaimRule{"inference-latency", inference_latency},
};

}  // namespace

std::span<const ClaimRule> storage_claims() { return kStorageClaims; }

}  // namespace orrery::calc
