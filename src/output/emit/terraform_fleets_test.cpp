#include <gmock/gmock.h>

#include "output/emit/pods_fixture.h"
#include "output/emit/review_fixture.h"
#include "output/emit/terraform.h"
#include "output/emit/terraform_parts.h"

namespace orrery::emit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RentedPart part_at(const char* provider, catalog::Contract contract) {
  RentedPart p;
  p.name = "train";
  p.provider = provider;
  p.instance = {.name = "big-8", .network_cards = 2};
  p.hosts = 3;
  p.contract = contract;
  return p;
}

TEST(TerraformFleets, an_aws_fleet_has_its_market) {
  RentedPart p = part_at("aws", catalog::Contract::spot);
  const std::string spot = fleet_tf(p);
  EXPECT_THAT(spot, HasSubstr("market_type = \"spot\"\n"));
  EXPECT_THAT(spot, HasSubstr("    network_card_index = 0\n    device_index       = 0\n"
                              "    interface_type     = \"efa\"\n"
                              "    subnet_id          = var.aws_subnet\n"
                              "    security_groups    = [var.aws_security_group]\n"));
  EXPECT_THAT(spot, HasSubstr("    network_card_index = 1\n    device_index       = 1\n"
                              "    interface_type     = \"efa-only\"\n"));
  EXPECT_THAT(spot, HasSubstr("strategy = \"cluster\"\n"));
  EXPECT_THAT(spot, Not(HasSubstr("capacity_reservation")));
  p.contract = catalog::Contract::reserved;
  EXPECT_THAT(fleet_tf(p), HasSubstr("capacity_reservation_preference = \"open\"\n"));
  p.capacity_block = true;
  EXPECT_THAT(fleet_tf(p), HasSubstr("market_type = \"capacity-block\"\n"));
  EXPECT_THAT(fleet_tf(p), Not(HasSubstr("capacity_reservation_preference")));
  p.instance.network_cards = 1;
  EXPECT_THAT(fleet_tf(p), Not(HasSubstr("interface_type")));
}

constexpr std::string_view kRented = R"(
orrery: 1
name: pods
site: { region: gcp-us-east4 }
fleet:
  - { name: a, node: aws-trn2-ultra, count: 4, spares: 1, rent: { provider: aws, contract: spot } }
  - { name: g, node: dgx-h100, count: 3, rent: { provider: gcp, contract: reserved } }
  - { name: z, node: dgx-h100, count: 2, rent: { provider: azure, contract: on-demand } }
  - { name: c, node: dgx-h100, count: 6, rent: { provider: coreweave, contract: on-demand } }
)";

std::string rented_file(std::string_view path) {
  const auto r = reviewed_as_pods(read_text(kRented));
  const auto files = emit_terraform(*r->review, r->source);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files ? directives(text_of(*files, path)) : "";
}

constexpr std::string_view kAmazon =
    R"(resource "aws_placement_group" "a" {
  name     = "a"
  strategy = "cluster"
}

resource "aws_launch_template" "a" {
  name_prefix   = "a-"
  image_id      = var.aws_ami
  instance_type = "big-8"
  key_name      = var.aws_key_name

  instance_market_options {
    market_type = "spot"
  }

  network_interfaces {
    network_card_index = 0
    device_index       = 0
    interface_type     = "efa"
    subnet_id          = var.aws_subnet
    security_groups    = [var.aws_security_group]
  }

  network_interfaces {
    network_card_index = 1
    device_index       = 1
    interface_type     = "efa-only"
    subnet_id          = var.aws_subnet
    security_groups    = [var.aws_security_group]
  }

  block_device_mappings {
    device_name = "/dev/sda1"

    ebs {
      volume_size = 500
      volume_type = "gp3"
    }
  }
}

resource "aws_instance" "a" {
  count           = 13
  placement_group = aws_placement_group.a.name
  tags            = { Fleet = "a" }

  launch_template {
    id      = aws_launch_template.a.id
    version = "$Latest"
  }
}
)";

TEST(TerraformFleets, aws_fleet) {
  RentedPart p;
  p.name = "a";
  p.provider = "aws";
  p.instance = {.name = "big-8", .network_cards = 2};
  p.hosts = 13;
  p.contract = catalog::Contract::spot;
  EXPECT_EQ(fleet_tf(p), kAmazon);
}

constexpr std::string_view kGoogle =
    R"(
resource "google_compute_resource_policy" "g" {
  name   = "g"
  region = var.gcp_region

  group_placement_policy {
    collocation = "COLLOCATED"
  }
}

resource "google_compute_instance" "g" {
  count             = 3
  name              = "g-${count.index + 1}"
  machine_type      = "a3-highgpu-8g"
  zone              = var.gcp_zone
  resource_policies = [google_compute_resource_policy.g.id]
  labels            = { fleet = "g" }

  boot_disk {
    initialize_params {
      image = var.gcp_image
      size  = 500
    }
  }

  network_interface {
    subnetwork = var.gcp_subnetwork
    nic_type   = "GVNIC"
  }

  scheduling {
    on_host_maintenance = "TERMINATE"
    automatic_restart   = true
    preemptible         = false
    provisioning_model  = "STANDARD"
  }

  reservation_affinity {
    type = "ANY_RESERVATION"
  }
}
)";

constexpr std::string_view kAzure =
    R"(
resource "azurerm_linux_virtual_machine_scale_set" "z" {
  name                   = "z"
  resource_group_name    = var.azure_resource_group
  location               = var.azure_location
  sku                    = "Standard_ND96isr_H100_v5"
  instances              = 2
  single_placement_group = true
  overprovision          = false
  priority               = "Regular"
  admin_username         = "azureuser"
  source_image_id        = var.azure_image_id
  tags                   = { fleet = "z" }

  admin_ssh_key {
    username   = "azureuser"
    public_key = var.azure_admin_key
  }

  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS"
    disk_size_gb         = 500
  }

  network_interface {
    name    = "primary"
    primary = true

    ip_configuration {
      name      = "internal"
      primary   = true
      subnet_id = var.azure_subnet_id
    }
  }
}
)";

constexpr std::string_view kCoreWeave =
    R"(
resource "kubernetes_manifest" "c" {
)"
    "  manifest = { apiVersion = \"compute.coreweave.com/v1alpha1\", kind = \"NodePool\", "
    "metadata = { name = \"c\" }, spec = { computeClass = \"default\", instanceType = "
    "\"gd-8xh100ib-i128\", targetNodes = 6, nodeLabels = { fleet = \"c\" } } }\n"
    R"(}
)";

TEST(TerraformFleets, gcp_azure_and_coreweave_fleets) {
  EXPECT_EQ(rented_file("fleet-g.tf"), kGoogle);
  EXPECT_EQ(rented_file("fleet-z.tf"), kAzure);
  EXPECT_EQ(rented_file("fleet-c.tf"), kCoreWeave);
}

// A node has four hosts: 16 in service and four spares.
TEST(TerraformFleets, spares_are_rented_as_whole_nodes) {
  const std::string text = rented_file("fleet-a.tf");
  EXPECT_NE(text.find("  count           = 20\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  instance_type = \"trn2.48xlarge\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    network_card_index = 15\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("    network_card_index = 16\n"), std::string::npos) << text;
}

constexpr std::string_view kOutputs =
    R"(
output "a_hosts" {
  value       = aws_instance.a[*].private_ip
}

output "g_hosts" {
  value       = google_compute_instance.g[*].network_interface[0].network_ip
}

output "z_hosts" {
  value       = azurerm_linux_virtual_machine_scale_set.z.unique_id
}

output "c_hosts" {
  value       = kubernetes_manifest.c.manifest.metadata.name
}
)";

constexpr std::string_view kVariables =
    R"(
variable "aws_region" {
  type        = string
}

variable "aws_ami" {
  type        = string
}

variable "aws_subnet" {
  type        = string
}

variable "aws_security_group" {
  type        = string
}

variable "aws_key_name" {
  type        = string
}

variable "azure_subscription" {
  type        = string
}

variable "azure_location" {
  type        = string
}

variable "azure_resource_group" {
  type        = string
}

variable "azure_subnet_id" {
  type        = string
}

variable "azure_image_id" {
  type        = string
}

variable "azure_admin_key" {
  type        = string
}

variable "coreweave_kubeconfig" {
  type        = string
}

variable "gcp_project" {
  type        = string
}

variable "gcp_region" {
  type        = string
  default     = "us-east4"
}

variable "gcp_zone" {
  type        = string
}

variable "gcp_image" {
  type        = string
}

variable "gcp_subnetwork" {
  type        = string
}
)";

constexpr std::string_view kVersions =
    R"(
terraform {
  required_version = ">= 1.6"

  required_providers {
    aws        = { source = "hashicorp/aws", version = "~> 6.0" }
    azurerm    = { source = "hashicorp/azurerm", version = "~> 4.0" }
    kubernetes = { source = "hashicorp/kubernetes", version = "~> 2.30" }
    google     = { source = "hashicorp/google", version = "~> 7.0" }
  }
}

provider "aws" {
  region = var.aws_region
}

provider "google" {
  project = var.gcp_project
  region  = var.gcp_region
}

provider "azurerm" {
  subscription_id = var.azure_subscription

  features {
  }
}

provider "kubernetes" {
  config_path = var.coreweave_kubeconfig
}
)";

TEST(TerraformFleets, outputs_variables_and_versions) {
  EXPECT_EQ(rented_file("outputs.tf"), kOutputs);
  EXPECT_EQ(rented_file("variables.tf"), kVariables);
  EXPECT_EQ(rented_file("versions.tf"), kVersions);
}

}  // namespace
}  // namespace orrery::emit
