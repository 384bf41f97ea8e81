#include <fmt/core.h>

#include <algorithm>

#include "core/catalog/named_file.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {
namespace {

class HoursCheck {
 public:
  HoursCheck(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file)
      : d_(design), v_(values), read_file_(read_file) {}

  void run() {
    const bool listed = d_.sites.size() > 1 || d_.places.given("sites[0]");
    for (std::size_t i = 0; i < d_.sites.size(); ++i) {
      if (d_.sites[i].hours.empty()) continue;
      const std::string path = listed ? fmt::format("sites[{}]", i) : "site";
      read(d_.sites[i].hours, path + ".hours");
      said_once(d_.sites[i], path + ".pue");
    }
    for (std::size_t i = 0; i < d_.sites.size(); ++i) {
      plant(d_.sites[i], listed ? fmt::format("sites[{}]", i) : "site");
    }
    for (std::size_t i = 0; i < d_.workloads.size(); ++i) {
      const design::Workload& w = d_.workloads[i];
      const auto* jobs = std::get_if<design::Jobs>(&w.task);
      const auto* batch = std::get_if<design::Batch>(&w.task);
      const bool waits = (jobs && jobs->clean_hours) || (batch && batch->clean_hours);
      if (waits) can_wait(w, fmt::format("workloads[{}].{}.clean_hours", i, design::kind_of(w)));
    }
  }

 private:
  void complain(const std::string& path, ValueReader::Fault fault) {
    v_.complain(d_.places.find(path), std::move(fault));
  }

  void read(const std::string& name, const std::string& path) {
    if (std::ranges::find(d_.local_hours, name, &design::LocalHours::path) != d_.local_hours.end())
      return;
    const auto text = catalog::named_file(read_file_, name);
    if (!text) {
      return complain(
          path, no_files(name, "leave `hours` out: the region's yearly means are used instead"));
    }
    auto hours = *text ? catalog::read_site_hours(**text, name)
                       : Result<catalog::SiteHours>(std::unexpected(text->error()));
    if (hours) {
      d_.local_hours.push_back({name, *std::move(hours)});
      return;
    }
    for (const Diagnostic& fault : hours.error()) {
      complain(path, {"design.hours-file", fmt::format("`{}`: {}", name, fault.what), fault.why,
                      fault.fix});
    }
  }

  void said_once(const design::Site& site, const std::string& path) {
    const catalog::SiteHours* hours = design::find_hours(d_, site);
    if (!site.pue || hours == nullptr || (hours->pue.empty() && hours->dry_c.empty())) return;
    complain(path,
             {"design.hours-file", "the site gives a `pue`, and its hours give one per hour",
              "one of them would have no effect", "leave out `pue`, or that column of the file"});
  }

  void plant(const design::Site& site, const std::string& path) {
    const auto needs_outages = [&](bool given, const char* key) {
      if (!given || site.outage_mtbf) return;
      complain(path + key,
               {"design.outage", "the utility of this site never fails",
                "there would be no outage to cover", "add `outage_mtbf`, or leave this out"});
    };
    needs_outages(site.outage.has_value(), ".outage");
    needs_outages(site.battery.has_value(), ".battery");
    needs_outages(site.generator.has_value(), ".generator");
    if (!site.cooling_design) return;
    if (*site.cooling_design < -40 || *site.cooling_design >= 55) {
      complain(path + ".cooling_design",
               {"design.range",
                "the dry-bulb temperature that a plant is sized for must be -40 C to 55 C",
                "the plant rejects its heat at 55 C",
                "write the temperature of the hottest day in a usual year"});
    }
    const catalog::SiteHours* hours = design::find_hours(d_, site);
    const bool has_weather = hours != nullptr && !hours->dry_c.empty();
    const bool is_unread = hours == nullptr && !site.hours.empty();  // reported already
    if (has_weather || is_unread) return;
    complain(path + ".cooling_design", {"design.weather", "the site has no hours with dry_bulb_c",
                                        "the hours that are hotter than this are not known",
                                        "name a CSV with that column in the site's `hours`"});
  }

  void can_wait(const design::Workload& w, const std::string& path) {
    const auto fleet = w.terms.fleet.empty()
                           ? d_.fleet.begin()
                           : std::ranges::find(d_.fleet, w.terms.fleet, &design::Fleet::name);
    if (fleet == d_.fleet.end()) return;  // reported already
    const design::Site* site = design::find_site(d_, fleet->site);
    if (site == nullptr) return;
    const catalog::SiteHours* hours = design::find_hours(d_, *site);
    if (hours != nullptr && !hours->carbon.empty()) return;
    if (hours == nullptr && !site->hours.empty()) return;  // it could not be read
    complain(path, {"design.clean-hours",
                    fmt::format("site `{}` has no hours with carbon_g_per_kwh", site->name),
                    "the clean hours of the site are not known",
                    "name a CSV with that column in the site's `hours`"});
  }

  design::Design& d_;
  ValueReader& v_;
  const catalog::ReadFile& read_file_;
};

}  // namespace

void check_hours(design::Design& design, ValueReader& values, const catalog::ReadFile& read_file) {
  HoursCheck(design, values, read_file).run();
}

}  // namespace orrery::design_text
