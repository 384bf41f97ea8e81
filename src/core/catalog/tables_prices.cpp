#include "core/catalog/tables.h"

namespace orrery::catalog {

void read_row(RowReader& r, CloudPrice& out) {
  out.id = r.id();
  out.provider = r.str("provider");
  out.accelerator_id = r.str("accelerator_id");
  out.sku = r.str("sku");
  out.on_demand_low = in_unit(r.maybe("ondemand_min_usd_per_accel_h"), usd_per_hour);
  out.on_demand_median = in_unit(r.maybe("ondemand_median_usd_per_accel_h"), usd_per_hour);
  out.on_demand_high = in_unit(r.maybe("ondemand_max_usd_per_accel_h"), usd_per_hour);
  out.spot_low = in_unit(r.maybe("spot_min_usd_per_accel_h"), usd_per_hour);
  out.spot_median = in_unit(r.maybe("spot_median_usd_per_accel_h"), usd_per_hour);
  out.spot_high = in_unit(r.maybe("spot_max_usd_per_accel_h"), usd_per_hour);
  out.spot_discount_median = r.maybe("spot_discount_median");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, ReservedDiscount& out) {
  out.id = r.id();
  out.term = years(r.number("term_years"));
  out.low = r.number("discount_low");
  out.high = r.number("discount_high");
  out.note = r.str("note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, StorageCloudPrice& out) {
  out.id = r.id();
  out.provider = r.str("provider");
  out.item = r.str("item");
  out.service = r.str("service");
  out.usd = r.number("usd");
  out.unit = r.str("unit");
  out.note = r.str("note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, SpotBand& out) {
  out.id = r.id();
  out.family = r.str("family");
  const auto percent = [](double pct) { return pct / 100; };
  out.low_month = in_unit(r.maybe("band_low_pct_per_month"), percent);
  out.high_month = in_unit(r.maybe("band_high_pct_per_month"), percent);
  out.notice = seconds(r.number_or_zero("notice_s"));
  out.note = r.str("note");
  out.accelerator_id = r.str("accelerator_id");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, TcoParameter& out) {
  out.id = r.id();
  out.name = r.str("name");
  out.low = r.number("low");
  out.typical = r.number("typical");
  out.high = r.number("high");
  out.unit = r.str("unit");
  out.note = r.str("note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, ServingEngine& out) {
  out.id = r.id();
  out.name = r.str("name");
  const auto status = from_word<EngineStatus>(r.text("status"));
  if (!status) r.fault("catalog.status", "status must be active, maintenance or archived");
  out.status = status.value_or(EngineStatus::active);
  out.status_since = r.str("status_since");
  out.replaced_by = r.str("replaced_by");
  out.note = r.str("note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, ExportControl& out) {
  out.id = r.id();
  out.accelerator_id = r.str("accelerator_id");
  out.rule = r.str("rule");
  out.countries = r.list("countries", ' ');
  out.note = r.str("note");
  out.provenance = r.provenance();
}

}  // namespace orrery::catalog
