#include "layers/storage/scale_out.h"

#include <algorithm>
#include <limits>

namespace orrery::storage {

const char* to_text(ScaleOutLimit limit) {
  switch (limit) {
    case ScaleOutLimit::servers:
      return "servers";
    case ScaleOutLimit::clients:
      return "clients";
    case ScaleOutLimit::fixed_cost:
      return "fixed cost";
  }
  return "";
}

ScaleOutRate scale_out(Bytes size, const ScaleOut& system) {
  const BytesPerSecond linear = system.per_server * system.servers;
  const BytesPerSecond of_servers = linear * system.efficiency;
  const BytesPerSecond of_clients = system.per_client * system.clients;
  const Seconds moving = size / min(of_servers, of_clients);

  ScaleOutRate r;
  r.time = system.fixed + moving;
  r.rate = size / r.time;
  r.of_linear = r.rate / linear;
  r.limit = of_clients < of_servers ? ScaleOutLimit::clients : ScaleOutLimit::servers;
  if (system.fixed > moving) r.limit = ScaleOutLimit::fixed_cost;
  return r;
}

ScaleOutFit fit_scale_out(std::span<const ScaleOutRow> rows) {
  // Dividing t = t0 + x/b by the measured t gives every row equal weight: 1 = t0 u + x u / b.
  double uu = 0;
  double uv = 0;
  double vv = 0;
  double u1 = 0;
  double v1 = 0;
  for (const ScaleOutRow& row : rows) {
    const double u = 1 / row.time.base();
    const double v = row.size.base() / row.servers * u;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    u1 += u;
    v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  const double fixed = determinant > 0 ? (u1 * vv - v1 * uv) / determinant : 0;
  if (fixed <= 0) return {.per_server = BytesPerSecond(vv / v1), .fixed = {}};
  const double per_byte = (uu * v1 - uv * u1) / determinant;
  return {.per_server = BytesPerSecond(1 / per_byte), .fixed = Seconds(fixed)};
}

namespace {

// Fits t = share / rate by least squares of relative error; share is size / servers or size /
// clients.
struct RateSum {
  double linear = 0;
  double square = 0;

  void add(double share, Seconds time) {
    const double v = share / time.base();
    linear += v;
    square += v * v;
  }
  BytesPerSecond rate() const {
    return linear > 0 ? BytesPerSecond(square / linear) : kUnlimitedRate;
  }
};

double squared_error(std::span<const ScaleOutRow> rows, const ClientBoundFit& fit) {
  double sum = 0;
  for (const ScaleOutRow& row : rows) {
    const Seconds time = row.size / min(fit.per_server * row.servers, fit.per_client * row.clients);
    const double error = time / row.time - 1;
    sum += error * error;
  }
  return sum;
}

}  // namespace

ClientBoundFit fit_client_bound(std::vector<ScaleOutRow> rows) {
  // Clients bind if there are many servers per client, so one position in this order divides the
  // rows.
  std::ranges::stable_sort(rows, {},
                           [](const ScaleOutRow& row) { return row.servers / row.clients; });
  ClientBoundFit best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t split = rows.size(); split >= 1; --split) {
    RateSum servers;
    RateSum clients;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const ScaleOutRow& row = rows[i];
      if (i < split) {
        servers.add(row.size.base() / row.servers, row.time);
      } else {
        clients.add(row.size.base() / row.clients, row.time);
      }
    }
    const ClientBoundFit fit{.per_server = servers.rate(), .per_client = clients.rate()};
    const double error = squared_error(rows, fit);
    // Clients bind only if that lowers the error by more than rounding.
    if (error < least - 1e-12) {
      least = error;
      best = fit;
    }
  }
  return best;
}

}  // namespace orrery::storage
