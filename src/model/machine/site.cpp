#include "model/machine/site.h"

#include <fmt/core.h>

namespace orrery::machine {
namespace {

// A design that was not read from a file has the path that writing it would give.
std::string path_of_site(const design::Design& design, std::size_t i) {
  const bool listed = design.sites.size() > 1 || design.places.given("sites[0]");
  return listed ? fmt::format("sites[{}]", i) : "site";
}

}  // namespace

Sites build_sites(const design::Design& design, const catalog::Catalog& catalog) {
  Sites sites;
  for (std::size_t i = 0; i < design.sites.size(); ++i) {
    const design::Site& s = design.sites[i];
    sites.push_back({.index = design::SiteIndex(i),
                     .site = &s,
                     .path = path_of_site(design, i),
                     .region = catalog.region(s.region),
                     .cooling = catalog.cooling(s.cooling),
                     .hours = find_hours(design, s)});
  }
  return sites;
}

}  // namespace orrery::machine
