#include "output/emit/host_shape.h"

#include <algorithm>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "model/figures/assumptions.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kHostFacts = "emit/slurm/hosts.csv";

std::optional<HostShape> known_shape(std::string_view node) {
  const auto table = catalog::embedded_table(kHostFacts);
  if (!table) return std::nullopt;
  for (const CsvRow& row : table->rows()) {
    if (table->text(row, "node_id") != node) continue;
    return HostShape{
        .sockets = static_cast<int>(table->integer(row, "sockets").value_or(1)),
        .cores_per_socket = static_cast<int>(table->integer(row, "cores_per_socket").value_or(1)),
        .memory = gib(table->number(row, "memory_gib").value_or(0))};
  }
  return std::nullopt;
}

}  // namespace

HostShape host_shape(const HostFleet& fleet) {
  const design::FleetNode& node = fleet.view->node;
  const int sockets = std::max(1, node.part.host_cpus / fleet.hosts_per_node);
  const int cores = figures::assumptions::kCoresPerAccelerator *
                    std::max(1, fleet.view->accelerators_per_host);
  HostShape shape{
      .sockets = sockets, .cores_per_socket = std::max(1, cores / sockets), .assumed = true};
  if (const auto known = known_shape(node.part.id)) shape = *known;
  if (node.cores) {
    shape.sockets = *node.cores % shape.sockets == 0 ? shape.sockets : 1;
    shape.cores_per_socket = *node.cores / shape.sockets;
    shape.assumed = false;
  }
  if (node.memory) shape.memory = node.memory;
  return shape;
}

}  // namespace orrery::emit
