// The design: one file's content as types. text -> read_design -> Design -> write_design -> text.
//
// Everything that can have a sensible default has one, so a Design is always whole; an optional
// means that the planner computes the value or takes it from the catalog. Quantities are in base
// units, ids are checked against the catalog, names (fleet, site, tier) against the file itself.
//
// Layers have a Layout and a Topology of their own; machine/ and plan/ turn one into the other. The
// words that both use are in catalog/vocabulary.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/catalog/catalog.h"
#include "core/catalog/site_hours.h"
#include "model/design/economics.h"
#include "model/design/fleet.h"
#include "model/design/indices.h"
#include "model/design/networks.h"
#include "model/design/pipeline.h"
#include "model/design/place_map.h"
#include "model/design/scheduling.h"
#include "model/design/site.h"
#include "model/design/tiers.h"
#include "model/design/workloads.h"

namespace orrery::design {

// A model shape read from the config.json that a workload's `model:` names by path.
struct LocalModel {
  std::string path;
  catalog::ModelShape shape;

  bool operator==(const LocalModel& o) const { return path == o.path; }
};

// A site's hours read from the CSV that its `hours:` names by path.
struct LocalHours {
  std::string path;
  catalog::SiteHours hours;

  bool operator==(const LocalHours& o) const { return path == o.path; }
};

struct Design {
  int format = 1;  // the format, from `orrery: 1`
  std::string name;
  std::string version;       // in the author's own numbering
  std::string description;   // one sentence for reports
  std::vector<Site> sites;   // at least one after reading
  std::vector<Fleet> fleet;  // at least one after reading
  Networks fabric;
  std::vector<StorageTier> storage;
  Scheduler scheduler;
  std::vector<Workload> workloads;
  Pipeline pipeline;
  Economics economics;
  std::vector<Goal> goals;

  std::vector<LocalModel> local_models;
  std::vector<LocalHours> local_hours;
  std::string file;  // as named by the caller; empty for a design made in memory
  PlaceMap places;

  // Compares what the designs say; the places of values in their files do not matter.
  bool operator==(const Design& o) const;
};

// Returns the place of "fleet[0].count" for a Diagnostic; for a default, the place of the section
// around it.
Place place_of(const Design& design, std::string_view path);

// Finds a site by name; an empty name means the first site. Returns nothing if there is none.
std::optional<SiteIndex> site_index(const Design& design, std::string_view name);
const Site* find_site(const Design& design, std::string_view name);
// Returns the hours that were read for the site; nullptr if it names none.
const catalog::SiteHours* find_hours(const Design& design, const Site& site);
// Finds a tier by label (name or tier word). Returns nullptr if there is none or the label is
// empty.
const StorageTier* find_tier(const Design& design, std::string_view label);
// Finds a model by catalog id, alias, or path of a config.json that was read.
const catalog::ModelShape* find_model(const Design& design, const catalog::Catalog& catalog,
                                      std::string_view model);
// Stores in every workload its position. read_design and the machine both number their workloads.
void number_workloads(Design& design);
// "train", or "serve-2" for the second one without a name of its own.
std::string label_of(const Design& design, const Workload& workload);

// A fleet's node: the catalog's row with `custom` applied to it.
struct FleetNode {
  catalog::Node part;
  const catalog::Accelerator* accelerator = nullptr;  // nullptr for a CPU server
  // Owns the accelerator if `custom` changes its links.
  std::shared_ptr<const catalog::Accelerator> rewired;
  std::optional<int> cores;     // per host
  std::optional<Bytes> memory;  // per host
  std::optional<BytesPerSecond> memory_bandwidth;
  std::optional<FlopsPerSecond> matrix_rate;
  std::optional<int> storage_nics;
  std::optional<BytesPerSecond> storage_nic_rate;
};
FleetNode resolve_node(const Fleet& fleet, const catalog::Catalog& catalog);

}  // namespace orrery::design
