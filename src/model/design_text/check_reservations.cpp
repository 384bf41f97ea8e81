#include <fmt/core.h>

#include <algorithm>

#include "core/base/text.h"
#include "model/design/slurm_fleets.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

class ReservationCheck {
 public:
  ReservationCheck(const design::Design& design, ValueReader& values) : d_(design), v_(values) {}

  void run() {
    const auto& all = d_.scheduler.reservations;
    if (all.size() > kMostReservations) {
      refuse("scheduler.reservations", fmt::format("the design has {} reservations", all.size()),
             "each job keeps one bit per reservation",
             fmt::format("write at most {}", kMostReservations));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      path_ = fmt::format("scheduler.reservations[{}]", i);
      const auto first = std::ranges::find(all, all[i].name, &design::Reservation::name);
      if (!all[i].name.empty() && first != all.begin() + static_cast<std::ptrdiff_t>(i)) {
        complain(".name", {"design.duplicate-name",
                           fmt::format("two entries are the reservation `{}`", all[i].name),
                           {},
                           "give each reservation its own `name`"});
      }
      fleet(all[i]);
      period(all[i]);
      tenants(all[i]);
    }
  }

 private:
  void complain(std::string_view key, ValueReader::Fault fault) {
    v_.complain(d_.places.find(path_ + std::string(key)), std::move(fault));
  }
  void refuse(std::string_view path, std::string what, std::string why, std::string fix) {
    v_.complain(d_.places.find(path),
                {"design.reservation", std::move(what), std::move(why), std::move(fix)});
  }

  void fleet(const design::Reservation& r) {
    const auto own = std::ranges::find_if(d_.fleet, [&](const design::Fleet& f) {
      return r.fleet.empty() ? design::is_slurms(d_, f) : f.name == r.fleet;
    });
    if (own == d_.fleet.end() && !r.fleet.empty()) {
      std::vector<std::string> known;
      for (const design::Fleet& f : d_.fleet) known.push_back(f.name);
      const auto close = nearest(r.fleet, known);
      return complain(".fleet", {"design.unknown-name",
                                 fmt::format("this file has no fleet `{}`", r.fleet),
                                 {},
                                 close ? fmt::format("did you mean `{}`?", *close)
                                       : std::string("use the name of an existing fleet")});
    }
    if (own == d_.fleet.end() || !design::is_slurms(d_, *own)) {
      return refuse(path_, "reservations exist only in Slurm, and Kubernetes runs this fleet",
                    "Kubernetes has no such mechanism",
                    "cordon the nodes in Kubernetes, or use Slurm");
    }
    if (!r.nodes || *r.nodes <= own->count) return;
    refuse(path_ + ".nodes",
           fmt::format("`{}` asks for {} nodes of fleet `{}`, which has {}", r.name, *r.nodes,
                       own->name, own->count),
           {}, "lower `nodes`, or leave it out for the whole fleet");
  }

  void period(const design::Reservation& r) {
    const Seconds every = design::length_of(r.repeat);
    if (every <= Seconds(0) || r.duration < every) return;
    refuse(path_ + ".duration",
           fmt::format("a window of `{}` ends after the next one opens", r.name),
           "its nodes would never be free", "make the window shorter, or let it repeat less often");
  }

  void tenants(const design::Reservation& r) {
    std::vector<std::string> known;
    for (const design::Quota& q : d_.scheduler.quotas) known.push_back(q.tenant);
    for (const std::string& tenant : r.tenants) {
      if (std::ranges::find(known, tenant) != known.end()) continue;
      const auto close = nearest(tenant, known);
      complain(".tenants",
               {"design.unknown-name", fmt::format("no quota names the tenant `{}`", tenant),
                "a reservation names accounts, and a tenant's quota creates its account",
                close ? fmt::format("did you mean `{}`?", *close)
                      : std::string("add it to `scheduler: { quotas: [...] }`")});
    }
  }

  const design::Design& d_;
  ValueReader& v_;
  std::string path_;
};

}  // namespace

void check_reservations(const design::Design& design, ValueReader& values) {
  ReservationCheck(design, values).run();
}

}  // namespace orrery::design_text
