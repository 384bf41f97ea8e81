// Fields of the whole file: the fixed nouns, in the order of the work.
#pragma once

#include "model/design/design.h"
#include "model/design/fields_machine.h"
#include "model/design/fields_pipeline.h"
#include "model/design/fields_site.h"
#include "model/design/fields_work.h"

namespace orrery::design {

inline constexpr int kFormat = 1;
inline constexpr Field kSiteField{
    .doc = "the place that the machines are in: power, cooling, rules",
    .required = true,
    .example = "{ region: gcp-us-east4 }"};
inline constexpr Field kSitesField{.doc = "instead of `site`: several sites, each with a name"};

// A visitor has, beside its call operator, sites(): one site is written as `site`, several as
// `sites`.
template <class V, Is<Design> S>
void visit_fields(V& v, S& s) {
  v("orrery", s.format,
    Field{.doc = "version of the file format", .required = true, .example = "1", .moves = "label"});
  v("name", s.name,
    Field{.doc = "name of the design",
          .required = true,
          .example = "superpod-h100-4su",
          .moves = "label"});
  v("version", s.version,
    Field{.doc = "version of the design, in a numbering of your own", .moves = "label"});
  v("description", s.description,
    Field{.doc = "one sentence about the design, for reports", .moves = "label"});
  v.sites(s.sites);
  v("fleet", s.fleet,
    Field{.doc = "the machines",
          .required = true,
          .example = "[{ name: train, node: dgx-h100, count: 127 }]"});
  v("fabric", s.fabric, Field{.doc = "the networks"});
  v("storage", s.storage, Field{.doc = "the tiers, nearest first"});
  v("scheduler", s.scheduler,
    Field{.doc = "which job runs when, and what happens when something breaks"});
  v("workloads", s.workloads, Field{.doc = "what the machines are for"});
  v("pipeline", s.pipeline, Field{.doc = "the steps of the data, from ingest to the served model"});
  v("economics", s.economics, Field{.doc = "costs and prices"});
  v("goals", s.goals,
    Field{.doc = "what the review and the run are judged against",
          .example = "[goodput >= 0.90]",
          .moves = "goal_ changes"});
}

}  // namespace orrery::design
