#include "core/base/text.h"
#include "core/catalog/tables.h"

namespace orrery::catalog {

void read_row(RowReader& r, Accelerator& out) {
  out.id = r.id();
  out.vendor = r.str("vendor");
  out.name = r.str("name");
  out.launch_year = r.integer("launch_year");
  out.form_factor = r.str("form_factor");
  // In the order of Dtype; integer TOPS count multiply-adds as 2, like FLOP.
  static constexpr std::array<std::string_view, kDtypeCount> kPeakColumns = {
      "fp64_tflops",       "fp32_tflops",      "tf32_tflops_dense", "bf16_tflops_dense",
      "fp16_tflops_dense", "fp8_tflops_dense", "int8_tops_dense",   "fp4_tflops_dense"};
  for (std::size_t i = 0; i < kPeakColumns.size(); ++i) {
    out.dense_peak[i] = in_unit(r.maybe(kPeakColumns[i]), tflops_per_s);
  }
  out.memory_type = r.str("mem_type");
  out.memory = gigabytes(r.number("mem_gb"));
  out.memory_bandwidth = gbytes_per_s(r.number("mem_bw_gbs"));
  out.scaleup_link = r.str("scaleup_link");
  out.scaleup_per_direction = in_unit(r.maybe("scaleup_gbs_per_dir"), gbytes_per_s);
  out.scaleup_domain = r.integer("scaleup_domain_accels");
  out.pcie_generation = r.integer("pcie_gen");
  out.tdp = in_unit(r.maybe("tdp_w"), watts);
  out.idle = in_unit(r.maybe("idle_w_est"), watts);
  out.price = r.price("price_low_usd", "price_high_usd");
  out.price_note = r.str("price_note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, Node& out) {
  out.id = r.id();
  out.vendor = r.str("vendor");
  out.name = r.str("name");
  out.accelerators = r.integer("accelerators");
  out.accelerator_id = r.str("accelerator_id");
  out.host_cpus = r.integer_or_zero("host_cpus");
  out.compute_nics = r.integer_or_zero("compute_nics");
  out.nic_rate = gbits_per_s(r.number_or_zero("nic_gbps_each"));
  out.storage_nics = r.str("storage_mgmt_nics");
  out.scaleup_switches = r.str("scaleup_switches");
  out.local_nvme = in_unit(r.maybe("local_nvme_tb"), terabytes);
  out.rack_units = r.maybe_int("rack_units");
  out.max_power = in_unit(r.maybe("max_power_kw"), kilowatts);
  out.typical_train_power = in_unit(r.maybe("typical_train_power_kw"), kilowatts);
  out.idle_power = in_unit(r.maybe("idle_power_kw"), kilowatts);
  out.psu = r.str("psu_count_x_kw");
  out.psu_redundancy = r.str("psu_redundancy");
  out.cooling = r.str("cooling");
  out.price = r.price("price_low_kusd", "price_high_kusd", 1e3);
  out.accelerators_per_host = r.integer("accelerators_per_host");
  out.psu_capacity = in_unit(r.maybe("psu_total_kw"), kilowatts);
  out.provenance = r.provenance();
}

void read_row(RowReader& r, Switch& out) {
  out.id = r.id();
  out.vendor = r.str("vendor");
  out.name = r.str("name");
  out.type = r.str("type");
  out.network = r.str("network");
  out.co_packaged = r.integer("co_packaged") != 0;
  out.asic = r.str("asic");
  out.ports = r.integer("ports");
  out.port_rate = gbits_per_s(r.number("port_gbps"));
  out.breakout = r.str("breakout_ports_x_gbps");
  out.total_one_way = gbits_per_s(1e3 * r.number("total_tbps_one_way"));
  out.latency = in_unit(r.maybe("port_to_port_latency_ns"), nanoseconds);
  out.typical_power = in_unit(r.maybe("typ_power_w_no_optics"), watts);
  out.max_power = in_unit(r.maybe("max_power_w"), watts);
  out.rack_units = r.maybe_int("rack_units");
  out.cooling = r.str("cooling");
  out.price = r.price("price_low_kusd", "price_high_kusd", 1e3);
  out.provenance = r.provenance();
}

void read_row(RowReader& r, Nic& out) {
  out.id = r.id();
  out.vendor = r.str("vendor");
  out.name = r.str("name");
  out.ports = r.integer("ports");
  out.port_rate = gbits_per_s(r.number("port_gbps"));
  out.total_rate = gbits_per_s(r.number("total_gbps"));
  out.protocols = r.str("protocols");
  out.pcie = r.str("pcie");
  out.typical_power = in_unit(r.maybe("typ_power_w"), watts);
  out.max_power = in_unit(r.maybe("max_power_w"), watts);
  out.latency = in_unit(r.maybe("latency_us_est"), microseconds);
  out.price = r.price("price_low_usd", "price_high_usd");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, Optic& out) {
  out.id = r.id();
  out.kind = r.str("kind");
  out.rate = in_unit(r.maybe("speed_gbps"), gbits_per_s);
  out.reach_m = r.number("reach_m");
  out.power_per_end = watts(r.number("power_w_per_end"));
  out.price = r.price("price_low_usd", "price_high_usd");
  out.note = r.str("failure_note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, StorageDevice& out) {
  out.id = r.id();
  out.vendor = r.str("vendor");
  out.name = r.str("name");
  out.device_class = r.str("class");
  out.interface = r.str("interface");
  out.capacity = terabytes(r.number("capacity_tb"));
  out.read = gbytes_per_s(r.number("seq_read_gbs"));
  out.write = gbytes_per_s(r.number("seq_write_gbs"));
  const auto thousands = [](double k) { return k * 1e3; };
  out.random_read_iops = in_unit(r.maybe("rand_read_kiops"), thousands);
  out.random_write_iops = in_unit(r.maybe("rand_write_kiops"), thousands);
  out.read_latency = in_unit(r.maybe("read_latency_us"), microseconds);
  out.drive_writes_per_day = r.maybe("dwpd");
  out.active_power = watts(r.number("active_power_w"));
  out.idle_power = watts(r.number("idle_power_w"));
  out.annual_failure_rate = in_unit(r.maybe("afr_pct"), [](double pct) { return pct / 100; });
  out.price_per_tb = r.need_price("usd_per_tb_low", "usd_per_tb_high");
  out.tier_role = r.str("tier_role");
  out.provenance = r.provenance();
}

DeviceForm form_of(const StorageDevice& device) {
  if (device.device_class.starts_with("object")) return DeviceForm::server;
  for (const std::string_view drive : {"TLC", "QLC", "NL-SSD", "HDD", "tape"}) {
    if (device.device_class.starts_with(drive)) return DeviceForm::drive;
  }
  return DeviceForm::appliance;
}

void read_row(RowReader& r, StorageProfile& out) {
  out.id = r.id();
  out.title = r.str("title");
  out.settings = r.str("settings");
  out.why = r.str("why");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, EmergingPart& out) {
  out.id = r.id();
  out.name = r.str("name");
  out.kind = r.str("kind");
  out.rate = in_unit(r.maybe("rate_gbps_per_dir"), gbits_per_s);
  out.latency = in_unit(r.maybe("latency_ns"), nanoseconds);
  out.status = r.str("status");
  out.note = r.str("note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, MigProfile& out) {
  out.id = r.id();
  out.accelerator_id = r.str("accelerator_id");
  out.profile = r.str("profile");
  out.memory_slices = r.integer("memory_slices");
  // "3g.71gb" has three compute slices; the vendor states this in the name only.
  const auto slices = parse_integer(std::string_view(out.profile).substr(0, out.profile.find('g')));
  if (!slices || *slices < 1 || *slices > 7) {
    r.fault("catalog.number", "'" + out.profile + "' is not a MIG profile such as 3g.71gb");
  }
  out.compute_slices = static_cast<int>(slices.value_or(0));
  for (const std::string& start : r.list("placements_start", ' ')) {
    const auto at = parse_integer(start);
    if (!at || *at < 0 || *at > 7) {
      r.fault("catalog.number", "'" + start + "' is not a memory slice (0 to 7)");
    }
    out.starts.push_back(static_cast<int>(at.value_or(0)));
  }
  out.max_instances = r.integer("max_instances");
  out.memory = gib(r.number("memory_gib"));
  out.multiprocessors = r.integer("sms");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, ModelShape& out) {
  out.id = r.id();
  out.aliases = r.list("aliases", '|');
  const std::string_view kind = r.text("attention");
  if (kind != "gqa" && kind != "mla") r.fault("catalog.attention", "attention must be gqa or mla");
  out.attention = kind == "mla" ? AttentionKind::mla : AttentionKind::gqa;
  out.layers = r.integer("layers");
  out.hidden = r.number("hidden");
  out.heads = r.integer("heads");
  out.kv_heads = r.integer("kv_heads");
  out.head_dim = r.number_or_zero("head_dim");
  out.ffn = r.number("ffn");
  out.gated_mlp = r.integer("gated_mlp") != 0;
  out.vocab = r.number("vocab");
  out.tied_embeddings = r.integer("tied_embeddings") != 0;
  out.experts = r.integer_or_zero("experts");
  out.top_k = r.integer_or_zero("top_k");
  out.expert_ffn = r.number_or_zero("expert_ffn");
  out.shared_experts = r.integer_or_zero("shared_experts");
  out.shared_expert_ffn = r.number_or_zero("shared_expert_ffn");
  out.first_dense_layers = r.integer_or_zero("first_dense_layers");
  out.q_lora_rank = r.number_or_zero("q_lora_rank");
  out.kv_lora_rank = r.number_or_zero("kv_lora_rank");
  out.qk_nope_dim = r.number_or_zero("qk_nope_dim");
  out.qk_rope_dim = r.number_or_zero("qk_rope_dim");
  out.v_head_dim = r.number_or_zero("v_head_dim");
  out.sliding_window = r.number_or_zero("sliding_window");
  out.full_attention_every = r.integer_or_zero("full_attention_every");
  out.mtp_layers = r.integer_or_zero("mtp_layers");
  out.state_space_layers = r.integer_or_zero("state_space_layers");
  out.mlp_only_layers = r.integer_or_zero("mlp_only_layers");
  out.scan_heads = r.number_or_zero("scan_heads");
  out.scan_head_dim = r.number_or_zero("scan_head_dim");
  out.scan_state = r.number_or_zero("scan_state");
  out.scan_groups = r.number_or_zero("scan_groups");
  out.biased_experts = r.integer_or_zero("biased_experts") != 0;
  out.expert_groups = r.integer_or_zero("expert_groups");
  out.expert_groups_per_token = r.integer_or_zero("expert_groups_per_token");
  out.expert_hidden = r.number_or_zero("expert_hidden");
  out.provenance = r.provenance();
}

}  // namespace orrery::catalog
