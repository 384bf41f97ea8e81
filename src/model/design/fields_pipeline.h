// Fields of the pipeline.
#pragma once

#include "model/design/fields.h"
#include "model/design/pipeline.h"

namespace orrery::design {

template <class V, Is<Stage> S>
void visit_fields(V& v, S& s) {
  v("stage", s.stage,
    Field{.doc = "what it is: ingest and archive, register and deploy move bytes; prepare, train "
                 "and validate are a batch or a training run; serve is a service that takes up new "
                 "weights, one replica after the other",
          .required = true,
          .example = "ingest",
          .moves = "lead changes"});
  v("name", s.name,
    Field{.doc = "in reports and for `after`; empty is its kind", .moves = "label"});
  v("workload", s.workload,
    Field{.doc = "name of the workload that prepares, trains, validates or serves",
          .moves = "stage_time changes"});
  v("from", s.from,
    Field{.doc = "tier that it reads; an ingest comes from outside",
          .moves = "stage_time changes"});
  v("to", s.to, Field{.doc = "tier that it writes", .moves = "stage_time changes"});
  v("size", s.size,
    Field{.doc = "bytes of one cycle",
          .unit = "TB",
          .absent = "register and deploy: weights of the model that is trained, 2 bytes each",
          .range = Range::positive,
          .moves = "stage_time rises"});
  v("rate", s.rate,
    Field{.doc = "of the line from outside for an ingest; the most that a copy may take",
          .unit = "Gb/s",
          .absent = "what tiers and lines carry",
          .range = Range::positive,
          .moves = "stage_time falls"});
  v("keep", s.keep,
    Field{.doc = "how long what came stays on the target",
          .unit = "d",
          .absent = "until the next cycle's is there",
          .range = Range::positive,
          .moves = "used rises"});
  v("after", s.after,
    Field{.doc =
              "stages above it that it waits for; `begin` is the cycle's beginning; empty is the "
              "stage above it",
          .example = "[train]",
          .moves = "lead changes"});
}

template <class V, Is<Pipeline> S>
void visit_fields(V& v, S& s) {
  v("every", s.every,
    Field{.doc = "a cycle begins",
          .unit = "d",
          .absent = "one cycle",
          .range = Range::positive,
          .moves = "freshness rises"});
  v("stages", s.stages, Field{.doc = "in their order"});
}

}  // namespace orrery::design
