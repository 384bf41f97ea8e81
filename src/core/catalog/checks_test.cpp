#include "core/catalog/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/catalog/embedded.h"
#include "core/catalog/embedded_table.h"
#include "core/catalog/row_reader.h"

namespace orrery::catalog {
namespace {

using testing::Contains;
using testing::Field;
using testing::IsEmpty;

// Changes one field of one row of the shipped tables and nothing else.
struct BadRow {
  const char* why;
  const char* table;
  const char* id;
  const char* column;
  const char* value;
  const char* code;

  friend void PrintTo(const BadRow& bad, std::ostream* out) { *out << bad.why; }
};

std::string changed_text(const BadRow& bad, int& line) {
  const std::string path = "catalog/" + std::string(bad.table) + ".csv";
  const auto table = embedded_table(path);
  std::string out;
  const auto put = [&](const std::vector<std::string>& fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) out += ',';
      out += csv_field(fields[i]);
    }
    out += '\n';
  };
  put(table->columns());
  for (CsvRow row : table->rows()) {
    if (table->text(row, "id") == bad.id) {
      line = row.line;
      row.fields[table->column(bad.column).value()] = bad.value;
    }
    put(row.fields);
  }
  return out;
}

Diagnostics faults_of(const BadRow& bad, int& line) {
  const auto loaded = load_catalog([&](std::string_view path) -> Result<std::string> {
    if (path == "catalog/" + std::string(bad.table) + ".csv") return changed_text(bad, line);
    return embedded_text(path);
  });
  return loaded ? Diagnostics{} : loaded.error();
}

class RefusedRow : public testing::TestWithParam<BadRow> {};

TEST_P(RefusedRow, names_the_fault_and_the_line) {
  const BadRow& bad = GetParam();
  int line = 0;
  const Diagnostics faults = faults_of(bad, line);
  ASSERT_GT(line, 1) << "no row " << bad.id;
  const Place place{"catalog/" + std::string(bad.table) + ".csv", line, 1};
  EXPECT_THAT(faults, Contains(AllOf(Field(&Diagnostic::code, std::string(bad.code)),
                                     Field(&Diagnostic::place, place))))
      << bad.why << "\n"
      << to_text(faults);
}

// models/facility: known errors in published figures, each as the row that has it.
constexpr BadRow kBadRows[] = {
    {"sparse fp8 beside dense bf16", "accelerators", "h100-sxm", "fp8_tflops_dense", "3958",
     "catalog.sparse"},
    {"sparse bf16", "accelerators", "h100-sxm", "bf16_tflops_dense", "1979", "catalog.sparse"},
    {"sparse bf16 of a power class", "accelerators", "h100-sxm", "bf16_tflops_dense", "1979",
     "catalog.sparse-row"},
    {"Blackwell Ultra fp4 at the sparse figure of 1440 PF a rack", "accelerators", "gb300",
     "fp4_tflops_dense", "20000", "catalog.sparse"},
    {"Blackwell Ultra fp4 halved like other parts", "accelerators", "gb300", "fp4_tflops_dense",
     "10000", "catalog.sparse"},
    {"Trainium3 fp8 inferred by doubling", "accelerators", "trainium3", "fp8_tflops_dense", "1342",
     "catalog.sparse"},
    {"int8 on a part that lost it", "accelerators", "b300-sxm", "int8_tops_dense", "4500",
     "catalog.sparse"},
    {"a ratio of a vendor without rules", "accelerators", "h100-sxm", "vendor", "Acme",
     "catalog.ratio-unknown"},
    {"GB200's rate on B200's watts", "accelerators", "b200-sxm", "bf16_tflops_dense", "2500",
     "catalog.sparse-row"},
    {"both directions of NVLink added", "accelerators", "h100-sxm", "scaleup_gbs_per_dir", "900",
     "catalog.link-both-directions"},
    {"both directions of Infinity Fabric added", "accelerators", "mi300x", "scaleup_gbs_per_dir",
     "896", "catalog.link-both-directions"},
    {"an unknown link", "accelerators", "h100-sxm", "scaleup_link", "HyperLink",
     "catalog.link-unknown"},
    {"96 GiB written as GB", "accelerators", "trainium2", "mem_gb", "96", "catalog.gib-as-gb"},
    {"80 GB converted as if GiB", "accelerators", "h100-sxm", "mem_gb", "85.9",
     "catalog.gib-as-gb"},
    {"a MIG instance larger than its name", "mig_profiles", "h200-sxm-1g.18gb", "memory_gib", "18",
     "catalog.gib-as-gb"},
    {"watts in kilowatts", "accelerators", "mi300x", "tdp_w", "0.75", "catalog.tflops-per-watt"},
    {"a rack's exaflops on one part", "accelerators", "rubin-vr200", "fp4_tflops_dense", "1400000",
     "catalog.tflops-per-watt"},
    {"memory bandwidth in TB/s", "accelerators", "h100-sxm", "mem_bw_gbs", "3.35", "catalog.ridge"},
    {"memory bandwidth in Gb/s", "accelerators", "h20-sxm", "mem_bw_gbs", "32000", "catalog.ridge"},
    {"price ends swapped", "accelerators", "h100-sxm", "price_low_usd", "50000",
     "catalog.price-order"},
    {"half a price", "accelerators", "h100-sxm", "price_low_usd", "", "catalog.price-half"},
    {"idle above TDP", "accelerators", "h100-sxm", "idle_w_est", "700", "catalog.power-order"},
    {"TDP x count above the node", "nodes", "dgx-h100", "max_power_kw", "5.5", "catalog.node-tdp"},
    {"node above its supplies", "nodes", "dgx-h100", "max_power_kw", "20", "catalog.node-psu"},
    {"supplies that do not hold when two fail", "nodes", "dgx-h100", "max_power_kw", "14",
     "catalog.node-psu"},
    {"four supplies of a six-supply node", "nodes", "dgx-h100", "psu_count_x_kw", "4x3.3",
     "catalog.node-psu"},
    {"nameplate taken as draw", "nodes", "dgx-h100", "typical_train_power_kw", "10.2",
     "catalog.power-order"},
    {"DGX H100 as 4U", "nodes", "dgx-h100", "rack_units", "4", "catalog.node-density"},
    {"2.4 MW a rack", "nodes", "gb200-nvl72", "max_power_kw", "2400", "catalog.node-density"},
    {"unknown accelerator", "nodes", "dgx-h100", "accelerator_id", "h101-sxm", "catalog.reference"},
    {"hosts that do not fill the node", "nodes", "gb200-nvl72", "accelerators_per_host", "5",
     "catalog.node-hosts"},
    {"62 of 64 ports", "switches", "qm9700", "ports", "62", "catalog.radix"},
    {"both directions of a switch added", "switches", "sn5600", "total_tbps_one_way", "102.4",
     "catalog.radix"},
    {"NIC total above its ports", "nics", "cx7", "total_gbps", "800", "catalog.radix"},
    {"drives that fail in per mille", "storage_devices", "hdd-cmr24", "afr_pct", "30",
     "catalog.fraction"},
    {"heads that do not group", "models", "llama-3-8b", "kv_heads", "5", "catalog.model-shape"},
    {"experts without a width", "models", "mixtral-8x7b", "expert_ffn", "", "catalog.model-shape"},
    {"latent attention without its rank", "models", "deepseek-v3", "kv_lora_rank", "",
     "catalog.model-shape"},
    {"an unknown attention", "models", "llama-3-8b", "attention", "rnn", "catalog.attention"},
    {"PUE below 1", "cooling_methods", "air-contained", "pue_low", "0.9", "catalog.fraction"},
    {"cooling that is not in the table", "pue_model_by_climate", "cool-air-contained", "cooling_id",
     "air", "catalog.reference"},
    {"efficiency in per cent", "power_chain", "ups-eco", "efficiency_high", "99.2",
     "catalog.fraction"},
    {"2N that loses nothing", "redundancy", "2n", "usable_fraction", "1", "catalog.redundancy"},
    {"lead times out of order", "lead_times", "chiller", "weeks_low", "61", "catalog.order"},
    {"dollars in a column of cents", "grid_regions", "usa", "elec_price_low_uscents_per_kwh",
     "0.065", "catalog.power-price"},
    {"carbon in grams a MWh", "grid_regions", "usa", "carbon_g_per_kwh", "369000",
     "catalog.carbon"},
    {"an unknown climate", "grid_regions", "usa", "climate", "mild", "catalog.reference"},
    {"a country by two letters", "grid_regions", "usa", "country", "us", "catalog.country"},
    {"cloud prices out of order", "cloud_prices", "aws-p5-h100-sxm", "ondemand_max_usd_per_accel_h",
     "1", "catalog.price-order"},
    {"a price for an unlisted part", "cloud_prices", "aws-p5-h100-sxm", "accelerator_id", "x1",
     "catalog.reference"},
    {"no source", "nodes", "dgx-h100", "source", "", "catalog.source"},
    {"no date", "nodes", "dgx-h100", "date", "", "catalog.date"},
    {"no basis", "nodes", "dgx-h100", "basis", "", "catalog.basis"},
    {"no confidence", "nodes", "dgx-h100", "confidence", "", "catalog.confidence"},
    {"a duplicate id", "accelerators", "h100-pcie", "id", "h100-sxm", "catalog.duplicate-id"},
    {"an alias used twice", "models", "mpt-7b", "aliases", "gpt-175b", "catalog.duplicate-id"},
    {"an id in capitals", "nodes", "dgx-h100", "id", "DGX_H100", "catalog.id"},
    {"text where a number belongs", "switches", "qm9700", "ports", "sixty-four", "catalog.number"},
    {"a negative size", "accelerators", "h100-sxm", "mem_gb", "-80", "catalog.number"},
    {"a blank that is needed", "switches", "qm9700", "ports", "", "catalog.missing"},
    {"an engine's status", "engines", "vllm", "status", "fine", "catalog.status"},
};

INSTANTIATE_TEST_SUITE_P(Traps, RefusedRow, testing::ValuesIn(kBadRows),
                         [](const auto& row) { return "Row" + std::to_string(row.index); });

TEST(Checks, shipped_catalog_passes) {
  const auto loaded = load_embedded_catalog();
  ASSERT_TRUE(loaded) << to_text(loaded.error());
  EXPECT_THAT(check_catalog(*loaded), IsEmpty());
}

// The tables without a struct must have the same columns as the rest.
TEST(Checks, every_table_carries_id_source_date_basis_and_confidence) {
  int tables = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("catalog/") || !file.path.ends_with(".csv")) continue;
    const auto table = CsvTable::parse(file.text, std::string(file.path));
    ASSERT_TRUE(table) << to_text(table.error());
    EXPECT_GT(table->rows().size(), 0u) << file.path;
    EXPECT_EQ(table->columns().front(), "id") << file.path;
    std::set<std::string> ids;
    Diagnostics faults;
    const Diagnostics form = scan_csv(file.text, std::string(file.path), [&](const CsvView& row) {
      RowReader reader(row, "", std::string(file.path), faults);
      const std::string id = reader.id();
      reader.provenance();
      EXPECT_TRUE(ids.insert(id).second) << file.path << ": " << id << " is there twice";
    });
    EXPECT_THAT(faults, IsEmpty()) << to_text(faults);
    EXPECT_THAT(form, IsEmpty()) << to_text(form);
    ++tables;
  }
  EXPECT_GE(tables, 36);
}

}  // namespace
}  // namespace orrery::catalog
