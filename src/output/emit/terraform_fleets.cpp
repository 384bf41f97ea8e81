// The instance blocks of AWS, Google Cloud, Azure and CoreWeave.
#include <fmt/core.h>

#include "model/figures/assumptions.h"
#include "output/emit/escape.h"
#include "output/emit/hcl_writer.h"
#include "output/emit/terraform_parts.h"

namespace orrery::emit {
namespace {

constexpr int kBootDiskGb = static_cast<int>(figures::assumptions::kBootDisk / gigabytes(1));

void aws_launch(HclWriter& hcl, const RentedPart& p) {
  hcl.begin("resource", {"aws_launch_template", p.name}).text("name_prefix", p.name + "-");
  hcl.expression("image_id", "var.aws_ami").text("instance_type", p.instance.name);
  hcl.expression("key_name", "var.aws_key_name");
  if (p.contract == catalog::Contract::spot || p.capacity_block) {
    hcl.begin("instance_market_options");
    hcl.text("market_type", p.capacity_block ? "capacity-block" : "spot").end();
  }
  if (p.contract == catalog::Contract::reserved && !p.capacity_block) {
    hcl.begin("capacity_reservation_specification");
    hcl.text("capacity_reservation_preference", "open").end();
  }
  for (int card = 0; card < p.instance.network_cards; ++card) {
    hcl.begin("network_interfaces").expression("network_card_index", std::to_string(card));
    hcl.expression("device_index", card == 0 ? "0" : "1");
    // The first card also carries ordinary traffic; the others carry the fabric's only.
    if (p.instance.network_cards > 1) hcl.text("interface_type", card == 0 ? "efa" : "efa-only");
    hcl.expression("subnet_id", "var.aws_subnet");
    hcl.expression("security_groups", "[var.aws_security_group]").end();
  }
  hcl.begin("block_device_mappings").text("device_name", "/dev/sda1").begin("ebs");
  hcl.expression("volume_size", std::to_string(kBootDiskGb)).text("volume_type", "gp3").end();
  hcl.end().end();
}

void aws_fleet(HclWriter& hcl, const RentedPart& p) {
  hcl.begin("resource", {"aws_placement_group", p.name}).text("name", p.name);
  hcl.text("strategy", "cluster").end();
  aws_launch(hcl, p);
  hcl.begin("resource", {"aws_instance", p.name});
  hcl.expression("count", std::to_string(p.hosts));
  hcl.expression("placement_group", fmt::format("aws_placement_group.{}.name", p.name));
  hcl.expression("tags", fmt::format("{{ Fleet = \"{}\" }}", p.name));
  hcl.begin("launch_template").expression("id", fmt::format("aws_launch_template.{}.id", p.name));
  hcl.text("version", "$Latest").end().end();
}

void gcp_scheduling(HclWriter& hcl, const RentedPart& p) {
  const bool spot = p.contract == catalog::Contract::spot;
  hcl.begin("scheduling").text("on_host_maintenance", "TERMINATE");
  hcl.expression("automatic_restart", spot ? "false" : "true");
  hcl.expression("preemptible", spot ? "true" : "false");
  hcl.text("provisioning_model", spot ? "SPOT" : "STANDARD");
  if (spot) hcl.text("instance_termination_action", "STOP");
  hcl.end();
  if (p.contract != catalog::Contract::reserved) return;
  hcl.begin("reservation_affinity").text("type", "ANY_RESERVATION").end();
}

void gcp_fleet(HclWriter& hcl, const RentedPart& p) {
  hcl.begin("resource", {"google_compute_resource_policy", p.name}).text("name", p.name);
  hcl.expression("region", "var.gcp_region").begin("group_placement_policy");
  hcl.text("collocation", "COLLOCATED").end().end();
  hcl.begin("resource", {"google_compute_instance", p.name});
  hcl.expression("count", std::to_string(p.hosts));
  hcl.expression("name", fmt::format("\"{}-${{count.index + 1}}\"", p.name));
  hcl.text("machine_type", p.instance.name).expression("zone", "var.gcp_zone");
  hcl.expression("resource_policies",
                 fmt::format("[google_compute_resource_policy.{}.id]", p.name));
  hcl.expression("labels", fmt::format("{{ fleet = \"{}\" }}", p.name));
  hcl.begin("boot_disk").begin("initialize_params").expression("image", "var.gcp_image");
  hcl.expression("size", std::to_string(kBootDiskGb)).end().end();
  hcl.begin("network_interface").expression("subnetwork", "var.gcp_subnetwork");
  hcl.text("nic_type", "GVNIC").end();
  gcp_scheduling(hcl, p);
  hcl.end();
}

void azure_fleet(HclWriter& hcl, const RentedPart& p) {
  const bool spot = p.contract == catalog::Contract::spot;
  hcl.begin("resource", {"azurerm_linux_virtual_machine_scale_set", p.name});
  hcl.text("name", p.name).expression("resource_group_name", "var.azure_resource_group");
  hcl.expression("location", "var.azure_location").text("sku", p.instance.name);
  hcl.expression("instances", std::to_string(p.hosts));
  // InfiniBand connects only machines of one placement group.
  hcl.expression("single_placement_group", "true").expression("overprovision", "false");
  hcl.text("priority", spot ? "Spot" : "Regular");
  if (spot) hcl.text("eviction_policy", "Deallocate");
  hcl.text("admin_username", "azureuser").expression("source_image_id", "var.azure_image_id");
  hcl.expression("tags", fmt::format("{{ fleet = \"{}\" }}", p.name));
  hcl.begin("admin_ssh_key").text("username", "azureuser");
  hcl.expression("public_key", "var.azure_admin_key").end();
  hcl.begin("os_disk").text("caching", "ReadWrite").text("storage_account_type", "Premium_LRS");
  hcl.expression("disk_size_gb", std::to_string(kBootDiskGb)).end();
  hcl.begin("network_interface").text("name", "primary").expression("primary", "true");
  hcl.begin("ip_configuration").text("name", "internal").expression("primary", "true");
  hcl.expression("subnet_id", "var.azure_subnet_id").end().end().end();
}

// CoreWeave's machines are nodes of a Kubernetes cluster and are requested as a pool.
void coreweave_fleet(HclWriter& hcl, const RentedPart& p) {
  hcl.begin("resource", {"kubernetes_manifest", p.name});
  hcl.expression(
      "manifest",
      fmt::format("{{ apiVersion = \"compute.coreweave.com/v1alpha1\", kind = \"NodePool\", "
                  "metadata = {{ name = {0} }}, spec = {{ computeClass = \"default\", "
                  "instanceType = {1}, targetNodes = {2}, nodeLabels = {{ fleet = {0} }} }} }}",
                  hcl_string(p.name), hcl_string(p.instance.name), p.hosts));
  hcl.end();
}

}  // namespace

std::string fleet_tf(const RentedPart& part) {
  HclWriter hcl;
  if (part.provider == "aws") aws_fleet(hcl, part);
  if (part.provider == "gcp") gcp_fleet(hcl, part);
  if (part.provider == "azure") azure_fleet(hcl, part);
  if (part.provider == "coreweave") coreweave_fleet(hcl, part);
  return hcl.result();
}

std::string output_of(const RentedPart& part) {
  if (part.provider == "aws") return fmt::format("aws_instance.{}[*].private_ip", part.name);
  if (part.provider == "gcp") {
    return fmt::format("google_compute_instance.{}[*].network_interface[0].network_ip", part.name);
  }
  if (part.provider == "coreweave") {
    return fmt::format("kubernetes_manifest.{}.manifest.metadata.name", part.name);
  }
  return fmt::format("azurerm_linux_virtual_machine_scale_set.{}.unique_id", part.name);
}

}  // namespace orrery::emit
