#include "layers/storage/gpu_path.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"

namespace orrery::storage {
namespace {

GpuPath path_of(std::string_view row) {
  if (row.find("O_DIRECT") != std::string_view::npos) return GpuPath::direct;
  return row.find("pageable") != std::string_view::npos ? GpuPath::pageable : GpuPath::pinned;
}

// The copy rates are those measured from memory; the rates with a disk in front of them are
// predicted.
TEST(GpuPath, measured_rows_from_disk) {
  const auto text = catalog::embedded_text("validation/h200_file_to_gpu.csv");
  ASSERT_TRUE(text.has_value());
  const auto table = CsvTable::parse(*text, "rows.csv");
  ASSERT_TRUE(table.has_value());
  const BytesPerSecond disk = gbytes_per_s(2.683);  // of the direct row, without a copy
  int rows = 0;
  for (const CsvRow& row : table->rows()) {
    const std::string name(table->text(row, "path"));
    const bool from_disk = name.starts_with("disk");
    const GpuPath path = path_of(name);
    const BytesPerSecond rate = stream_into_gpu(from_disk ? disk : kUnlimitedRate, path);
    EXPECT_NEAR(rate / gbytes_per_s(*table->number(row, "gb_per_s")), 1, 0.05) << name;
    EXPECT_NEAR(core_time(gigabytes(1), path).base() / *table->number(row, "cpu_s_per_gb"), 1, 0.06)
        << name;
    ++rows;
  }
  EXPECT_EQ(rows, 5);
}

// Per gigabyte the bounce buffer takes five times the cores of the direct path.
TEST(GpuPath, bounce_takes_cores) {
  const double ratio =
      core_time(gigabytes(1), GpuPath::pinned) / core_time(gigabytes(1), GpuPath::direct);
  EXPECT_NEAR(ratio, 0.2501 / 0.0465, 0.15 * ratio);
}

TEST(GpuPath, latency_is_the_sum_and_names_its_longest) {
  const AccessLatency direct = access_latency({.media = microseconds(60),
                                               .network = microseconds(5),
                                               .service = microseconds(10),
                                               .request = mib(1),
                                               .stream = gbytes_per_s(10),
                                               .path = GpuPath::direct});
  EXPECT_NEAR(direct.total.base() * 1e6, 60 + 5 + 10 + 104.8576, 1e-6);
  EXPECT_EQ(direct.longest, AccessPart::transfer);
  AccessQuestion bounced{.media = microseconds(60),
                         .network = microseconds(5),
                         .service = microseconds(10),
                         .request = mib(1),
                         .stream = gbytes_per_s(10),
                         .path = GpuPath::pinned};
  const AccessLatency bounce = access_latency(bounced);
  EXPECT_NEAR((bounce.total - direct.total).base() * 1e6, 1048576 / 4064.0, 1e-3);
  EXPECT_EQ(bounce.longest, AccessPart::host_copy);
  bounced.request = kib(4);
  EXPECT_EQ(access_latency(bounced).longest, AccessPart::media);
}

}  // namespace
}  // namespace orrery::storage
