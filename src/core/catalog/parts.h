// Parts one can buy: accelerators, nodes, switches, NICs, optics, drives. Facts only, no behaviour.
//
// Rates are dense (never 2:4 sparse), links are per direction, sizes are decimal unless the name
// says GiB. A missing figure is nullopt and is never inferred from another one (Trainium3's fp8
// rate is 3.75x its bf16 rate, not 2x).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/catalog/provenance.h"

namespace orrery::catalog {

enum class Dtype { fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4 };
inline constexpr int kDtypeCount = 8;

inline constexpr Word<Dtype> kDtypeWords[] = {
    {Dtype::fp64, "fp64"}, {Dtype::fp32, "fp32"}, {Dtype::tf32, "tf32"}, {Dtype::bf16, "bf16"},
    {Dtype::fp16, "fp16"}, {Dtype::fp8, "fp8"},   {Dtype::int8, "int8"}, {Dtype::fp4, "fp4"}};
constexpr WordTable<Dtype> words_of(Dtype) { return kDtypeWords; }
constexpr std::string_view to_text(Dtype d) { return word_of(d); }
// Returns the bytes of one element as stored; fp4 takes half a byte.
double bytes_per_element(Dtype d);

struct Accelerator {
  std::string id;
  std::string vendor;
  std::string name;
  int launch_year = 0;
  std::string form_factor;
  std::array<std::optional<FlopsPerSecond>, kDtypeCount> dense_peak;
  std::string memory_type;
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  std::string scaleup_link;  // "NVLink4"; "none" if it has none
  std::optional<BytesPerSecond> scaleup_per_direction;
  int scaleup_domain = 1;  // accelerators connected by the scale-up link
  Seconds scaleup_extra;   // latency of one crossing, in addition to that of the measured links
  int pcie_generation = 0;
  std::optional<Watts> tdp;
  std::optional<Watts> idle;
  std::optional<PriceRange> price;
  std::string price_note;
  Provenance provenance;

  std::optional<FlopsPerSecond> peak(Dtype d) const {
    return dense_peak[static_cast<std::size_t>(d)];
  }
};

// A node is the unit that is bought: a host of 8 accelerators, or a whole NVL72 rack, whose hosts
// have 4 accelerators each (`accelerators_per_host`).
struct Node {
  std::string id;
  std::string vendor;
  std::string name;
  int accelerators = 0;
  std::string accelerator_id;
  int accelerators_per_host = 0;
  int host_cpus = 0;  // sockets
  int compute_nics = 0;
  BytesPerSecond nic_rate;  // per NIC and direction
  std::string storage_nics;
  std::string scaleup_switches;
  std::optional<Bytes> local_nvme;
  std::optional<int> rack_units;
  std::optional<Watts> max_power;
  std::optional<Watts> typical_train_power;
  std::optional<Watts> idle_power;
  std::string psu;
  std::optional<Watts> psu_capacity;  // sum over all supplies, including redundant ones
  std::string psu_redundancy;
  std::string cooling;
  std::optional<PriceRange> price;
  Provenance provenance;
};

struct Switch {
  std::string id;
  std::string vendor;
  std::string name;
  std::string type;          // "Ethernet VOQ", in the maker's words
  std::string network;       // "infiniband", "ethernet" or "nvlink"
  bool co_packaged = false;  // its optics are packaged with the ASIC
  std::string asic;
  int ports = 0;
  BytesPerSecond port_rate;  // per direction
  std::string breakout;
  BytesPerSecond total_one_way;
  std::optional<Seconds> latency;
  std::optional<Watts> typical_power;  // power without optics
  std::optional<Watts> max_power;
  std::optional<int> rack_units;
  std::string cooling;
  std::optional<PriceRange> price;
  Provenance provenance;
};

struct Nic {
  std::string id;
  std::string vendor;
  std::string name;
  int ports = 0;
  BytesPerSecond port_rate;
  BytesPerSecond total_rate;
  std::string protocols;
  std::string pcie;
  std::optional<Watts> typical_power;
  std::optional<Watts> max_power;
  std::optional<Seconds> latency;
  std::optional<PriceRange> price;
  Provenance provenance;
};

struct Optic {
  std::string id;
  std::string kind;
  std::optional<BytesPerSecond> rate;
  double reach_m = 0;
  Watts power_per_end;
  std::optional<PriceRange> price;
  std::string note;
  Provenance provenance;
};

// A drive, or an appliance of a parallel file system (class "PFS appliance").
struct StorageDevice {
  std::string id;
  std::string vendor;
  std::string name;
  std::string device_class;
  std::string interface;
  Bytes capacity;
  BytesPerSecond read;
  BytesPerSecond write;
  std::optional<double> random_read_iops;
  std::optional<double> random_write_iops;
  std::optional<Seconds> read_latency;
  std::optional<double> drive_writes_per_day;
  Watts active_power;
  Watts idle_power;
  std::optional<double> annual_failure_rate;  // fraction per year
  PriceRange price_per_tb;                    // USD for 1e12 bytes
  std::string tier_role;
  Provenance provenance;
};

// How a device is sold: a bare drive; a server of drives, whose capacity is raw and whose rates are
// delivered rates ("object HDD" nodes); or an appliance, whose capacity is usable capacity too.
enum class DeviceForm { drive, server, appliance };
DeviceForm form_of(const StorageDevice& device);

// A named set of settings for a storage tier: fields of the design's `storage` entry and their
// values, which apply unless the entry itself gives a value.
struct StorageProfile {
  std::string id;
  std::string title;
  std::string settings;  // as written in the design file, in braces
  std::string why;
  Provenance provenance;
};

// A link or memory pool that is announced or new: Ultra Ethernet, UALink, CXL memory, co-packaged
// optics.
inline constexpr std::string_view kScaleUpLink = "scale-up link";  // kinds of EmergingPart
inline constexpr std::string_view kMemoryPool = "memory pool";
struct EmergingPart {
  std::string id;
  std::string name;
  std::string kind;
  std::optional<BytesPerSecond> rate;  // per direction
  std::optional<Seconds> latency;
  std::string status;
  std::string note;
  Provenance provenance;
};

struct MigProfile {
  std::string id;  // "h200-sxm-1g.18gb"
  std::string accelerator_id;
  std::string profile;
  int compute_slices = 0;
  int memory_slices = 0;
  std::vector<int> starts;  // memory slices at which an instance may begin
  int max_instances = 0;
  Bytes memory;
  int multiprocessors = 0;
  Provenance provenance;
};

}  // namespace orrery::catalog
