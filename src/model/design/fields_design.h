// Fields of the whole file: the fixed nouns, in the order of the work.
#pragma once

#include "model/design/design.h"
#include "model/design/fields_machine.h"
#include "model/design/fields_pipeline.h"
#include "model/design/fields_site.h"
#include "model/design/fields_work.h"

namespace orrery::design {

inline constexpr int kFormat = 1;
inline constexpr Field kSiteField{.doc = "where it stands: power, cooling, rules",
                                  .required = true,
                                  .example = "{ region: gcp-us-east4 }"};
inline constexpr Field kSitesField{.doc = "instead of `site`: several, each with a name"};

// A visitor has, beside its call operator, sites(): one site stands under `site`, several under
// `sites`.
template <class V, Is<Design> S>
void visit_fields(V& v, S& s) {
  v("orrery", s.format,
    Field{.doc = "version of the file format", .required = true, .example = "1", .moves = "label"});
  v("name", s.name,
    Field{.doc = "of the design",
          .required = true,
          .example = "superpod-h100-4su",
          .moves = "label"});
  v("version", s.version, Field{.doc = "of the design, as you count them", .moves = "label"});
  v("description", s.description, Field{.doc = "one sentence for reports", .moves = "label"});
  v.sites(s.sites);
  v("fleet", s.fleet,
    Field{.doc = "the machines",
          .required = true,
          .example = "[{ name: train, node: dgx-h100, count: 127 }]"});
  v("fabric", s.fabric, Field{.doc = "the networks"});
  v("storage", s.storage, Field{.doc = "the tiers, nearest first"});
  v("scheduler", s.scheduler, Field{.doc = "who runs when; what happens when something breaks"});
  v("workloads", s.workloads, Field{.doc = "what it is for"});
  v("pipeline", s.pipeline, Field{.doc = "the life of data, from ingest to the served model"});
  v("economics", s.economics, Field{.doc = "money"});
  v("goals", s.goals,
    Field{.doc = "what the review is held against",
          .example = "[goodput >= 0.90]",
          .moves = "goal_ changes"});
}

}  // namespace orrery::design
