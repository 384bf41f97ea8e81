// Many writers against many servers: the servers' end, the clients' end, the fixed cost.
//
//   t = t0 + S / min(K b, clients c)            b a server, c a client
// The knee. FlashBlade//EXA wrote a 15,427 GiB checkpoint at 328, 484, 656 and 888 GiB/s from 10,
// 15, 20 and 30 data nodes: 0.90 of linear at 30. A cap on the clients would hold the 5,292 GiB
// checkpoint of the same 30 nodes to the same 888; it reached 744. Both fit a fixed t0 of about 2 s
// in every checkpoint. fit_scale_out finds t0 and b by least squares over rows of any size, and
// predicts the row it has not seen within 6 % (rates there vary by 12 % from run to run).
// Reads commit nothing, and there the clients do bind: the same system read both checkpoints at 530
// and 559 GiB/s from 30 nodes, and at 23 to 25 a node below. fit_client_bound finds b and c; rows
// it has not seen come out within 7 %.
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
  Seconds fixed;          // in every transfer: open, barrier, commit
  double efficiency = 1;  // of the servers
};

enum class ScaleOutLimit { servers, clients, fixed_cost };
const char* to_text(ScaleOutLimit limit);

struct ScaleOutRate {
  Seconds time;
  BytesPerSecond rate;  // size over time
  ScaleOutLimit limit = ScaleOutLimit::servers;
  double of_linear = 0;  // rate against servers x per_server
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
// Least squares of relative error in t = t0 + (S/K)/b. Needs two rows with different S/K.
ScaleOutFit fit_scale_out(std::span<const ScaleOutRow> rows);

// Least squares of relative error in t = S / min(K b, C c). A side that binds no row has no figure:
// b is then what the least loaded servers gave, c is unlimited.
struct ClientBoundFit {
  BytesPerSecond per_server;
  BytesPerSecond per_client = kUnlimitedRate;
};
ClientBoundFit fit_client_bound(std::vector<ScaleOutRow> rows);

}  // namespace orrery::storage
