#include "layers/storage/checkpoint.h"

#include <algorithm>
#include <cmath>

namespace orrery::storage {
namespace {

Seconds time_of(Bytes amount, BytesPerSecond rate) { return amount / rate; }

struct Term {
  Seconds time;
  Wall wall;
};

// Returns the first of the longest terms, so that a tie always has the same name.
Term longest(std::initializer_list<Term> terms) {
  Term best = *terms.begin();
  for (const Term& t : terms) {
    if (t.time > best.time) best = t;
  }
  return best;
}

// Returns the busiest node's bytes if its first `writers` ranks write `full` and the rest write
// `rest`.
Bytes node_bytes(double writers, Bytes full, Bytes rest, const SaveLayout& layout) {
  const double on_node = std::min(layout.ranks_per_node, layout.ranks);
  const double heavy = std::min(writers, on_node);
  return full * heavy + rest * (on_node - heavy);
}

// The first nodes write the weights besides their own part; a last node with few of these ranks
// counts as one of the others.
void count_nodes(SaveLoad& load, double heavy_ranks, const SaveLayout& layout) {
  const double on_node = std::max(1, std::min(layout.ranks_per_node, layout.ranks));
  load.nodes = static_cast<int>(std::ceil(std::max(1, layout.ranks) / on_node));
  load.heavy_nodes = std::clamp(static_cast<int>(std::ceil(heavy_ranks / on_node)), 1, load.nodes);
  while (load.heavy_nodes > 1 && load.busiest_node * load.heavy_nodes > load.total) {
    --load.heavy_nodes;
  }
  const int others = load.nodes - load.heavy_nodes;
  const Bytes rest = max(Bytes(0), load.total - load.busiest_node * load.heavy_nodes);
  load.other_node = others > 0 ? min(load.busiest_node, rest / others) : Bytes(0);
}

// Nodes share the servers evenly, each limited to `node`: first all of them write, then only the
// heavy ones.
Seconds fair_share_time(const SaveLoad& load, BytesPerSecond server, BytesPerSecond node) {
  const Seconds all = time_of(load.other_node, min(node, server / load.nodes));
  const Bytes more = load.busiest_node - load.other_node;
  return all + time_of(more, min(node, server / load.heavy_nodes));
}

}  // namespace

const char* to_text(SavedState s) {
  switch (s) {
    case SavedState::adam_mixed:
      return "adam-mixed";
    case SavedState::adam_rederived:
      return "adam-rederived";
    case SavedState::adam_8bit:
      return "adam-8bit";
    case SavedState::sgd_momentum:
      return "sgd-momentum";
    case SavedState::weights_only:
      return "weights-only";
  }
  return "";
}

StateBytes state_bytes(SavedState s) {
  switch (s) {
    case SavedState::adam_mixed:
      return {.weight = 2, .master = 4, .moments = 8};
    case SavedState::adam_rederived:
      return {.weight = 0, .master = 4, .moments = 8};
    case SavedState::adam_8bit:
      return {.weight = 2, .master = 4, .moments = 2};
    case SavedState::sgd_momentum:
      return {.weight = 2, .master = 4, .moments = 4};
    case SavedState::weights_only:
      return {.weight = 2, .master = 0, .moments = 0};
  }
  return {};
}

Bytes checkpoint_size(double parameters, const StateBytes& per_parameter) {
  return Bytes(parameters * per_parameter.total());
}

Bytes checkpoint_size(double parameters, SavedState s) {
  return checkpoint_size(parameters, state_bytes(s));
}

SaveLoad save_load(double parameters, const StateBytes& per_parameter, const SaveLayout& layout) {
  const double shards = std::max(1, std::min(layout.model_shards, layout.ranks));
  const double ranks = std::max(1, layout.ranks);
  const Bytes weights(parameters * per_parameter.weight);
  const Bytes optimizer(parameters * per_parameter.optimizer());
  SaveLoad load{.total = weights + optimizer};
  switch (layout.sharding) {
    case SaveSharding::replicated:
      load.busiest_rank = load.total / shards;
      load.writers = shards;
      load.busiest_node = node_bytes(shards, load.busiest_rank, Bytes(0), layout);
      break;
    case SaveSharding::zero1:
      load.busiest_rank = weights / shards + optimizer / ranks;
      load.writers = ranks;
      load.busiest_node = node_bytes(shards, load.busiest_rank, optimizer / ranks, layout);
      break;
    case SaveSharding::zero3:
    case SaveSharding::balanced:
      load.busiest_rank = load.total / ranks;
      load.writers = ranks;
      load.busiest_node = node_bytes(ranks, load.busiest_rank, Bytes(0), layout);
      break;
  }
  count_nodes(load,
              layout.sharding == SaveSharding::replicated || layout.sharding == SaveSharding::zero1
                  ? shards
                  : ranks,
              layout);
  return load;
}

const char* to_text(Wall w) {
  switch (w) {
    case Wall::server_bandwidth:
      return "server bandwidth";
    case Wall::node_network:
      return "node network";
    case Wall::serialisation:
      return "serialisation";
    case Wall::metadata:
      return "metadata";
    case Wall::commit:
      return "commit barrier";
  }
  return "";
}

WriteTime write_time(const SaveLoad& load, double files, const WritePath& path) {
  WriteTime t{.server = time_of(load.total, path.server),
              .network = time_of(load.busiest_node, path.node),
              .serialise = time_of(load.busiest_rank, path.serialise),
              .metadata = files / path.creates,
              .commit = path.commit};
  const Term data = longest({{t.server, Wall::server_bandwidth},
                             {t.network, Wall::node_network},
                             {t.serialise, Wall::serialisation}});
  BytesPerSecond node = path.node;
  if (t.serialise > Seconds(0)) node = min(node, load.busiest_node / t.serialise);
  t.uneven = max(Seconds(0), fair_share_time(load, path.server, node) - data.time);
  t.total = data.time + t.uneven + t.metadata + t.commit;
  t.wall = longest({data, {t.metadata, Wall::metadata}, {t.commit, Wall::commit}}).wall;
  return t;
}

SaveStall sync_stall(Seconds write) {
  return {.snapshot = {},
          .wait = {},
          .interference = {},
          .total = write,
          .stall_end = write,
          .safe = write,
          .drain_outlasts_interval = false};
}

SaveStall async_stall(const AsyncPath& path) {
  SaveStall s;
  s.snapshot = path.rank_bytes / path.copy_rate;
  s.drain_outlasts_interval = path.drain > path.interval;
  s.wait = max(Seconds(0), path.drain - path.interval);
  s.interference = min(path.drain, path.interval) * path.interference;
  s.total = s.snapshot + s.wait + s.interference;
  s.stall_end = s.wait + s.snapshot;
  s.safe = s.stall_end + path.drain;
  return s;
}

Bytes snapshot_memory(Bytes busiest_node, int buffers) { return busiest_node * buffers; }

RestoreLoad restore_load(double parameters, const StateBytes& per_parameter,
                         const RestoreLayout& layout) {
  const SaveLayout& save = layout.save;
  const double ranks = std::max(1, save.ranks);
  const double shards = std::max(1, std::min(save.model_shards, save.ranks));
  const double on_node = std::min(save.ranks_per_node, save.ranks);
  const Bytes weights(parameters * per_parameter.weight);
  const Bytes optimizer(parameters * per_parameter.optimizer());
  const bool sharded = save.sharding == SaveSharding::zero3;
  const double replicas = layout.broadcast || sharded ? 1 : ranks / shards;
  const Bytes rank_weights = sharded ? weights / ranks : weights / shards;
  const Bytes rank_optimizer =
      save.sharding == SaveSharding::replicated ? optimizer / shards : optimizer / ranks;
  const double optimizer_copies = save.sharding == SaveSharding::replicated ? replicas : 1;
  return {.total = weights * replicas + optimizer * optimizer_copies,
          .node = (rank_weights + rank_optimizer) * on_node};
}

RestoreTime restore_time(const RestoreLoad& load, const ReadPath& path) {
  RestoreTime t{.server = time_of(load.total, path.server),
                .network = time_of(load.node, path.node)};
  const Term data = longest({{t.server, Wall::server_bandwidth}, {t.network, Wall::node_network}});
  t.total = data.time + path.start;
  t.wall = longest({data, {path.start, Wall::commit}}).wall;
  return t;
}

}  // namespace orrery::storage
