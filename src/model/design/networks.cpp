#include "model/design/networks.h"

namespace orrery::design {

TopologyTerms topology_terms(NamedTopology name) {
  switch (name) {
    case NamedTopology::none:
    case NamedTopology::fat_tree:
      return {.kind = catalog::TopologyKind::fat_tree};
    case NamedTopology::rail_fat_tree:
      return {.kind = catalog::TopologyKind::rail_fat_tree};
    case NamedTopology::three_tier:
      return {.kind = catalog::TopologyKind::rail_fat_tree, .tiers = 3};
    case NamedTopology::twin_plane:
      return {.kind = catalog::TopologyKind::rail_fat_tree, .planes = 2};
    case NamedTopology::dragonfly:
      return {.kind = catalog::TopologyKind::dragonfly};
    case NamedTopology::torus:
      return {.kind = catalog::TopologyKind::torus};
    case NamedTopology::rail_only:
      return {.kind = catalog::TopologyKind::rail_only};
    case NamedTopology::nvl72:
      return {.kind = catalog::TopologyKind::scale_up};
  }
  return {};
}

}  // namespace orrery::design
