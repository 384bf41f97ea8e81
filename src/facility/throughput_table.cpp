#include "facility/throughput_table.h"

#include <algorithm>

namespace orrery::facility {

namespace {

ThroughputRow row_of(const catalog::Node& node, FlopsPerSecond each,
                     const catalog::CoolingMethod& method, const ThroughputRequest& request) {
  ThroughputRow row;
  row.node_id = node.id;
  row.vendor = node.vendor;
  row.accelerators = node.accelerators;
  row.peak = each * node.accelerators;
  row.reference = node.provenance.reference;
  if (node.price) row.usd_per_tflops = node.price->middle().base() / (row.peak / tflops_per_s(1));
  if (!node.max_power) return row;
  row.tflops_per_watt = (row.peak / tflops_per_s(1)) / (*node.max_power / watts(1));
  const RackFit fit = fit_rack({.node_power = *node.max_power,
                                .node_units = static_cast<double>(node.rack_units.value_or(0)),
                                .rack_limit = request.rack_limit},
                               method);
  row.nodes_per_rack = fit.nodes;
  row.bound = fit.bound;
  row.pflops_per_rack = fit.nodes * (row.peak / tflops_per_s(1000));
  return row;
}

}  // namespace

std::vector<ThroughputRow> throughput_table(const catalog::Catalog& catalog,
                                            const catalog::CoolingMethod& method,
                                            const ThroughputRequest& request) {
  std::vector<ThroughputRow> rows;
  for (const catalog::Node& node : catalog.nodes) {
    const catalog::Accelerator* accelerator = catalog.accelerator(node.accelerator_id);
    if (accelerator == nullptr) continue;
    const auto peak = accelerator->peak(request.dtype);
    if (peak) rows.push_back(row_of(node, *peak, method, request));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ThroughputRow& a, const ThroughputRow& b) {
    return a.tflops_per_watt.value_or(-1) > b.tflops_per_watt.value_or(-1);
  });
  return rows;
}

}  // namespace orrery::facility
