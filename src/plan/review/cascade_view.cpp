#include "plan/review/cascade_view.h"

#include <algorithm>

#include "plan/review/serve_sizing.h"

namespace orrery::review {

std::optional<CascadeView> view_cascade(const Review& r, const ServeView& v) {
  if (!v.serve->escalate || !v.feasible()) return std::nullopt;
  const design::Escalation& to = *v.serve->escalate;
  CascadeView c;
  for (const ServeView& other : r.serves) {
    if (label_of(r.design(), *other.workload) != to.service) continue;
    if (!other.feasible()) return std::nullopt;
    if (c.large == nullptr) c.large = &other;
  }
  if (c.large == nullptr) return std::nullopt;
  const ServeView& large = *c.large;
  c.answer = v.answer + large.answer * to.share;
  if (v.serve->quality && large.serve->quality) {
    const double more = to.share * *large.serve->quality;
    c.quality = (1 - to.share) * *v.serve->quality + more;
    c.quality_best = std::min(*v.serve->quality, 1 - to.share) + more;
  }
  if (r.cost.accelerators <= 0 || v.rate <= PerSecond(0) || large.rate <= PerSecond(0)) return c;
  const double a_second = r.cost.annual.base() / r.cost.accelerators / years(1).base();
  const auto each = [&](double devices, PerSecond rate) {
    return devices * a_second / rate.base();
  };
  c.usd_here = each(v.devices, v.rate);
  c.usd_large = each(large.devices, large.rate);
  c.usd = c.usd_here + to.share * c.usd_large;
  c.replicas_alone =
      std::max(1.0, large.replicas_for(v.peak, figures::assumptions::kReplicaLoad));
  c.usd_alone = each(large.accelerators_for(c.replicas_alone), v.rate);
  return c;
}

}  // namespace orrery::review
