// What the emitters' parts are where nobody says otherwise: a host of one socket, nothing counted,
// nothing asked for.
#include <gtest/gtest.h>

#include "output/emit/alerts.h"
#include "output/emit/host_shape.h"
#include "output/emit/kubernetes_parts.h"
#include "output/emit/slurm_parts.h"
#include "output/emit/terraform_parts.h"

namespace orrery::emit {
namespace {

TEST(UnsaidParts, OfHosts) {
  EXPECT_EQ(HostShape{}.cores(), 1);
  EXPECT_EQ(HostShape{}.sockets, 1);
  EXPECT_FALSE(HostShape{}.memory);
  EXPECT_FALSE(HostShape{}.assumed);
  const HostFleet fleet;
  EXPECT_EQ(fleet.view, nullptr);
  EXPECT_EQ(fleet.hosts(), 0);
  EXPECT_EQ(fleet.in_service, 0);
  EXPECT_EQ(fleet.hosts_per_node, 1);
  EXPECT_EQ(fleet.digits, 1);
  EXPECT_EQ(HostRange{}, (HostRange{HostFleetIndex(0), 1, 0}));
}

TEST(UnsaidParts, OfSchedulers) {
  EXPECT_FALSE(KubernetesOptions{}.ray);
  EXPECT_EQ(KindCheck{}.fields_checked, 0);
  EXPECT_FALSE(KindCheck{}.known);
  EXPECT_FALSE(KubeFleet{}.nvidia);
  EXPECT_EQ(Tenant{}.share, 1);
  EXPECT_EQ(HostGres{}.count, 0);
  EXPECT_FALSE(HostGres{}.mig);
  const SlurmPartitionPlan partition;
  EXPECT_FALSE(partition.is_default);
  EXPECT_EQ(partition.tier, 1);
  EXPECT_FALSE(partition.preemptible);
  EXPECT_EQ(SlurmOptions{}.controller, "slurm-controller");
  EXPECT_EQ(SlurmOptions{}.conf_dir, "/etc/slurm");
  const review::Review review;
  const EmitSource source;
  const KubePlan pods{.review = review, .source = source};
  EXPECT_FALSE(pods.topology || pods.pods || pods.domains || pods.ray);
  const SlurmOptions options;
  const SlurmPlan slurm{.review = review, .source = source, .options = options};
  EXPECT_FALSE(slurm.accounting);
}

TEST(UnsaidParts, OfRentsAndAlerts) {
  const RentedPart part;
  EXPECT_EQ(part.view, nullptr);
  EXPECT_EQ(part.hosts, 0);
  EXPECT_EQ(part.instance.network_cards, 1);
  EXPECT_EQ(part.contract, catalog::Contract::on_demand);
  EXPECT_FALSE(part.capacity_block);
  const Alert alert;
  EXPECT_EQ(alert.for_minutes, 0);
  EXPECT_EQ(alert.threshold, 0);
  EXPECT_EQ(alert.onset_minutes, 0);
  EXPECT_TRUE(Metric{}.guard);
  EXPECT_FALSE(EmittedFile{}.executable);
}

}  // namespace
}  // namespace orrery::emit
