// Many writers and many servers: limits of the servers, limits of the clients, and the fixed cost.
//
//   t = t0 + S / min(K b, clients c)            b per server, c per client
// The knee: FlashBlade//EXA wrote a 15,427 GiB checkpoint at 328, 484, 656 and 888 GiB/s from 10,
// 15, 20 and 30 data nodes: 0.90 of linear at 30. A limit of the clients would hold the 5,292 GiB
// checkpoint on the same 30 nodes to the same 888, but it reached 744. Both fit a fixed t0 of about
// 2 s per checkpoint. fit_scale_out finds t0 and b by least squares over rows of any size, and
// predicts a held-out row within 6 % (rates there vary by 12 % from run to run). Reads commit
// nothing, and there the clients do bind: the same system read the two checkpoints at 530 and 559
// GiB/s from 30 nodes, and at 23 to 25 per node with fewer. fit_client_bound finds b and c, and
// predicts held-out rows within 7 %.
#pragma once

#include <span>
#include <vector>

#include "core/base/quantity.h"
#include "layers/storage/checkpoint.h"

namespace orrery::storage {

struct ScaleOut {
  double servers = 1;
  BytesPerSecond per_server;
  double clients = 1;
  BytesPerSecond per_client = kUnlimitedRate;
  Seconds fixed;          // per transfer: open, barrier, commit
  double efficiency = 1;  // efficiency of the servers
};

enum class ScaleOutLimit { servers, clients, fixed_cost };
const char* to_text(ScaleOutLimit limit);

struct ScaleOutRate {
  Seconds time;
  BytesPerSecond rate;  // size over time
  ScaleOutLimit limit = ScaleOutLimit::servers;
  double of_linear = 0;  // rate divided by servers x per_server
};
ScaleOutRate scale_out(Bytes size, const ScaleOut& system);

struct ScaleOutRow {
  Bytes size;
  double servers = 0;
  Seconds time;
  double clients = 1;
};
struct ScaleOutFit {
  BytesPerSecond per_server;
  Seconds fixed;  // never negative
};
// Fits t = t0 + (S/K)/b by least squares of relative error. Needs two rows with different S/K.
ScaleOutFit fit_scale_out(std::span<const ScaleOutRow> rows);

// Fits t = S / min(K b, C c) by least squares of relative error. If one side binds in no row, its
// figure is unknown: b is then what the least loaded servers gave, and c is unlimited.
struct ClientBoundFit {
  BytesPerSecond per_server;
  BytesPerSecond per_client = kUnlimitedRate;
};
ClientBoundFit fit_client_bound(std::vector<ScaleOutRow> rows);

}  // namespace orrery::storage
