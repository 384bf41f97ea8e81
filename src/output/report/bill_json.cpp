#include "output/report/bill_json.h"

namespace orrery::report {

void write_bill(JsonWriter& w, const catalog::Bill& bill) {
  w.key("bill").begin_array();
  for (const catalog::BillLine& l : bill.lines) {
    w.begin_object().field("section", l.section).field("item", l.item).field("part", l.part_id);
    w.field("count", l.count);
    if (l.unit_price) {
      w.field("unit_price_low_usd", l.unit_price->low.base());
      w.field("unit_price_high_usd", l.unit_price->high.base());
    }
    w.field("unit_power_w", l.unit_power.base()).field("reference", l.reference).end_object();
  }
  w.end_array();
}

}  // namespace orrery::report
