#include "core/catalog/tables.h"

namespace orrery::catalog {

void read_row(RowReader& r, CoolingMethod& out) {
  out.id = r.id();
  out.rack_low = kilowatts(r.number("rack_kw_low"));
  out.rack_practical_max = kilowatts(r.number("rack_kw_practical_max"));
  out.liquid_heat_fraction = r.number("liquid_heat_fraction");
  out.supply_temperature_c = r.number("supply_temp_c_typ");
  out.pue_low = r.number("pue_low");
  out.pue_high = r.number("pue_high");
  out.wue_low_l_per_kwh = r.number("wue_l_per_kwh_low");
  out.wue_high_l_per_kwh = r.number("wue_l_per_kwh_high");
  out.capex_per_kw = r.need_price("capex_usd_per_kw_it_low", "capex_usd_per_kw_it_high");
  out.retrofit = r.str("retrofit_ease");
  out.note = r.str("note");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, AshraeClass& out) {
  out.id = r.id();
  out.kind = r.str("kind");
  out.note = r.str("note");
  out.low_c = r.number("low_c");
  out.high_c = r.number("high_c");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, PueByClimate& out) {
  r.id();
  out.climate = r.str("climate");
  out.cooling_id = r.str("cooling_id");
  out.p10 = r.number("pue_p10");
  out.p50 = r.number("pue_p50");
  out.p90 = r.number("pue_p90");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, PowerStage& out) {
  out.id = r.id();
  out.name = r.str("name");
  out.efficiency_low = r.number("efficiency_low");
  out.efficiency_typical = r.number("efficiency_typ");
  out.efficiency_high = r.number("efficiency_high");
  out.model = r.str("model");
  out.redundancy_effect = r.str("redundancy_effect");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, Redundancy& out) {
  out.id = r.id();
  out.name = r.str("name");
  out.capacity_multiplier = r.number("capacity_multiplier");
  out.usable_fraction = r.number("usable_fraction");
  out.note = r.str("availability_note");
  out.extra_capex_low = r.number("extra_capex_low");
  out.extra_capex_high = r.number("extra_capex_high");
  out.provenance = r.provenance();
}

void read_row(RowReader& r, GridRegion& out) {
  out.id = r.id();
  out.aliases = r.list("aliases", '|');
  out.name = r.str("name");
  out.carbon = grams_per_kwh(r.number("carbon_g_per_kwh"));
  out.carbon_year = r.integer("carbon_year");
  out.price_low = usd_per_kwh(r.number("elec_price_low_uscents_per_kwh") / 100);
  out.price_high = usd_per_kwh(r.number("elec_price_high_uscents_per_kwh") / 100);
  out.price_note = r.str("price_note");
  out.country = r.str("country");
  out.climate = r.str("climate");
  out.provenance = r.provenance();
  out.price_confidence = r.confidence("confidence_price");
}

void read_row(RowReader& r, LeadTime& out) {
  out.id = r.id();
  out.item = r.str("item");
  out.low = weeks(r.number("weeks_low"));
  out.typical = weeks(r.number("weeks_typ"));
  out.high = weeks(r.number("weeks_high"));
  out.note = r.str("note");
  out.provenance = r.provenance();
}

}  // namespace orrery::catalog
