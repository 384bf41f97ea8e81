#include "core/catalog/tables.h"

namespace orrery::catalog {
namespace {

Dtype read_dtype(RowReader& r, std::string_view column) {
  const auto dtype = from_word<Dtype>(r.text(column));
  if (!dtype) r.fault("catalog.dtype", "column '" + std::string(column) + "' names no dtype");
  return dtype.value_or(Dtype::bf16);
}

}  // namespace

void read_row(RowReader& r, DenseRatio& out) {
  out.id = r.id();
  out.vendor = r.str("vendor");
  out.accelerator_id = r.str("accelerator_id");
  out.dtype = read_dtype(r, "dtype");
  out.of = read_dtype(r, "of_dtype");
  out.ratio = r.number("ratio");
  out.reason = r.str("reason");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, DenseCeiling& out) {
  out.id = r.id();
  out.vendor = r.str("vendor");
  out.from_year = r.integer("from_year");
  out.to_year = r.integer("to_year");
  out.tflops_per_watt = r.number("bf16_tflops_per_w_max");
  out.reason = r.str("reason");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, LinkRate& out) {
  out.id = r.id();
  out.link = r.str("link");
  out.per_direction = gbytes_per_s(r.number("gbs_per_dir_max"));
  out.reason = r.str("reason");
  out.provenance = r.provenance();
}

}  // namespace orrery::catalog
