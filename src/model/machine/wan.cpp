#include "model/machine/wan.h"

#include <map>
#include <set>
#include <string>

namespace orrery::machine {
namespace {

// Returns the site that a line leads to from `here`; nothing if the line does not touch it.
std::optional<std::string> other_end(const design::WanLink& link, const std::string& here) {
  if (link.between.size() != 2) return std::nullopt;
  if (link.between[0] == here) return link.between[1];
  if (link.between[1] == here) return link.between[0];
  return std::nullopt;
}

}  // namespace

std::optional<WanPath> wan_between(const design::Design& design, std::string_view from,
                                   std::string_view to) {
  std::map<std::string, WanPath> reached{{std::string(from), {BytesPerSecond(1e300), Seconds(0)}}};
  std::set<std::string> settled;
  while (true) {
    const WanPath* nearest = nullptr;
    std::string here;
    for (const auto& [site, path] : reached) {
      if (settled.contains(site)) continue;
      if (nearest == nullptr || path.latency < nearest->latency) nearest = &path, here = site;
    }
    if (nearest == nullptr) return std::nullopt;
    if (here == to) return *nearest;
    const WanPath so_far = *nearest;
    settled.insert(here);
    for (std::size_t l = 0; l < design.fabric.wan.size(); ++l) {
      const design::WanLink& link = design.fabric.wan[l];
      const auto next = other_end(link, here);
      if (!next || settled.contains(*next)) continue;
      const WanPath path{min(so_far.rate, link.rate), so_far.latency + link.latency,
                         link.rate < so_far.rate ? l : so_far.slowest};
      const auto known = reached.find(*next);
      if (known == reached.end() || path.latency < known->second.latency) reached[*next] = path;
    }
  }
}

}  // namespace orrery::machine
