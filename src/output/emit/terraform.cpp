#include "output/emit/terraform.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/csv.h"
#include "core/catalog/embedded_table.h"
#include "model/design/names.h"
#include "output/emit/escape.h"
#include "output/emit/hcl_writer.h"
#include "output/emit/stamp.h"
#include "output/emit/terraform_parts.h"

namespace orrery::emit {
namespace {

constexpr std::string_view kInstances = "emit/terraform/instances.csv";

struct Provider {
  std::string_view id;  // id in the price table
  std::string_view local_name;
  std::string_view source;
  std::string_view version;
};
constexpr Provider kProviders[] = {{"aws", "aws", "hashicorp/aws", "~> 6.0"},
                                   {"gcp", "google", "hashicorp/google", "~> 7.0"},
                                   {"azure", "azurerm", "hashicorp/azurerm", "~> 4.0"},
                                   {"coreweave", "kubernetes", "hashicorp/kubernetes", "~> 2.30"}};

const Provider* find_provider(std::string_view id) {
  const auto at = std::ranges::find(kProviders, id, &Provider::id);
  return at == std::end(kProviders) ? nullptr : at;
}

// Returns the provider of an offer: "aws-capacity-block" is a way to buy from aws.
std::string_view seller_of(std::string_view provider) {
  return provider.starts_with("aws-") ? std::string_view("aws") : provider;
}

struct InstanceChoice {
  std::optional<InstanceType> type;
  std::string offered;  // offers of the table for this provider, for the message
};

InstanceChoice instance_for(std::string_view provider, const machine::Fleet& view) {
  const auto table = catalog::embedded_table(kInstances);
  InstanceChoice choice;
  if (!table) return choice;
  const std::string wanted = view.accelerator() ? view.accelerator()->id : "";
  for (const CsvRow& row : table->rows()) {
    if (table->text(row, "provider") != provider) continue;
    const std::string_view id = table->text(row, "accelerator_id");
    const auto count = table->integer(row, "accelerators").value_or(0);
    choice.offered += fmt::format("{}{} x {}", choice.offered.empty() ? "" : ", ", count,
                                  id.empty() ? "none" : id);
    if (choice.type || id != wanted || count != view.accelerators_per_host) continue;
    choice.type = {std::string(table->text(row, "instance_type")),
                   static_cast<int>(table->integer(row, "network_cards").value_or(1))};
  }
  return choice;
}

Result<RentedPart> part_of(const review::Review& review, const machine::Fleet& view) {
  const auto place = [&](std::string_view field) {
    return design::place_of(review.design(), view.path + std::string(field));
  };
  // The name becomes a Terraform resource and, followed by a number, a machine at the provider.
  for (const NameRule rule : {NameRule::dns_label, NameRule::hcl}) {
    auto name = checked_name(view.fleet->name, rule, {"the fleet", place(".name")});
    if (!name) return std::unexpected(std::move(name.error()));
  }
  const std::string provider(seller_of(view.fleet->rent->provider));
  if (find_provider(provider) == nullptr) {
    return fail({.code = "emit.provider",
                 .place = place(".rent.provider"),
                 .what = fmt::format("Terraform cannot be emitted for provider {}",
                                     comment_text(provider, 40)),
                 .why = "it can be emitted for aws, gcp, azure and coreweave only",
                 .fix = "rent from one of these, or use that provider's own tools"});
  }
  const InstanceChoice choice = instance_for(provider, view);
  if (!choice.type) {
    return fail({.code = "emit.instance",
                 .place = place(".node"),
                 .what = fmt::format("the table of instances has no {} instance with {} x {}",
                                     provider, view.accelerators_per_host,
                                     view.accelerator() ? view.accelerator()->id : "none"),
                 .why = "it has " + choice.offered,
                 .fix = "choose a node with those accelerators, or another provider"});
  }
  return RentedPart{.view = &view,
                    .name = view.fleet->name,
                    .provider = provider,
                    .instance = *choice.type,
                    .hosts = view.hosts + view.fleet->spares * std::max(1, view.hosts) /
                                              std::max(1, view.fleet->count),
                    .contract = view.fleet->rent->contract,
                    .capacity_block = view.fleet->rent->provider == "aws-capacity-block"};
}

std::string versions_tf(const EmitSource& source, const std::set<std::string>& providers) {
  HclWriter hcl;
  hcl.begin("terraform").text("required_version", ">= 1.6").begin("required_providers");
  for (const std::string& id : providers) {
    const Provider& p = *find_provider(id);
    hcl.expression(p.local_name, fmt::format("{{ source = {}, version = {} }}",
                                             hcl_string(p.source), hcl_string(p.version)));
  }
  hcl.end().end();
  if (providers.contains("aws"))
    hcl.begin("provider", {"aws"}).expression("region", "var.aws_region").end();
  if (providers.contains("gcp")) {
    hcl.begin("provider", {"google"}).expression("project", "var.gcp_project");
    hcl.expression("region", "var.gcp_region").end();
  }
  if (providers.contains("azure")) {
    hcl.begin("provider", {"azurerm"}).expression("subscription_id", "var.azure_subscription");
    hcl.begin("features").end().end();
  }
  if (providers.contains("coreweave")) {
    hcl.begin("provider", {"kubernetes"});
    hcl.expression("config_path", "var.coreweave_kubeconfig").end();
  }
  return stamp(source, "#") + '\n' + hcl.result();
}

// Returns "us-east4" for a site in gcp-us-east4 if the fleet is rented from gcp.
std::optional<std::string> region_of(const std::vector<RentedPart>& parts,
                                     const std::string& provider) {
  for (const RentedPart& p : parts) {
    const std::string prefix = provider + '-';
    const std::string region = p.view->site ? p.view->site->region : "";
    if (p.provider == provider && region.starts_with(prefix)) return region.substr(prefix.size());
  }
  return std::nullopt;
}

struct Variable {
  std::string name;
  std::string about;
  std::optional<std::string> usual = std::nullopt;
};

std::vector<Variable> variables_for(const std::string& provider,
                                    const std::vector<RentedPart>& parts) {
  const auto region = region_of(parts, provider);
  if (provider == "aws") {
    return {{"aws_region", "Region of the instances", region},
            {"aws_ami", "Image with the driver of the accelerator"},
            {"aws_subnet", "Subnet of one availability zone"},
            {"aws_security_group",
             "Security group that lets the instances reach each other, EFA included"},
            {"aws_key_name", "Key pair for ssh"}};
  }
  if (provider == "gcp") {
    return {{"gcp_project", "Project that is billed"},
            {"gcp_region", "Region of the instances", region},
            {"gcp_zone", "Zone of all instances, so that they can be placed close together"},
            {"gcp_image", "Image with the driver of the accelerator"},
            {"gcp_subnetwork", "Subnetwork of the region"}};
  }
  if (provider == "coreweave") {
    return {{"coreweave_kubeconfig", "Path of the cluster's kubeconfig"}};
  }
  return {{"azure_subscription", "Subscription that is billed"},
          {"azure_location", "Region of the instances", region},
          {"azure_resource_group", "Resource group"},
          {"azure_subnet_id", "Subnet of the instances"},
          {"azure_image_id", "Image with the driver of the accelerator"},
          {"azure_admin_key", "Public ssh key of the administrator"}};
}

std::string variables_tf(const EmitSource& source, const std::set<std::string>& providers,
                         const std::vector<RentedPart>& parts) {
  HclWriter hcl;
  for (const std::string& provider : providers) {
    for (const Variable& v : variables_for(provider, parts)) {
      hcl.begin("variable", {v.name}).expression("type", "string");
      hcl.text("description", v.about);
      if (v.usual) hcl.text("default", *v.usual);
      hcl.end();
    }
  }
  return stamp(source, "#") + '\n' + hcl.result();
}

std::string outputs_tf(const EmitSource& source, const std::vector<RentedPart>& parts) {
  HclWriter hcl;
  for (const RentedPart& p : parts) {
    hcl.begin("output", {p.name + "_hosts"});
    hcl.text("description", "Instances of the fleet, for an inventory");
    hcl.expression("value", output_of(p)).end();
  }
  return stamp(source, "#") + '\n' + hcl.result();
}

std::unexpected<Diagnostics> nothing_rented(const design::Design& design) {
  return fail({.code = "emit.nothing-rented",
               .place = design::place_of(design, "fleet"),
               .what = "no fleet of this design is rented",
               .why = "Terraform is written for rented machines only",
               .fix = "add `rent: { provider: aws }` to a fleet"});
}

}  // namespace

Result<EmittedFiles> emit_terraform(const review::Review& review, const EmitSource& source) {
  std::vector<RentedPart> parts;
  std::set<std::string> providers;
  Diagnostics faults;
  for (const machine::Fleet& view : review.fleets()) {
    if (!view.rented()) continue;
    auto part = part_of(review, view);
    if (!part) {
      faults.insert(faults.end(), part.error().begin(), part.error().end());
      continue;
    }
    providers.insert(part->provider);
    parts.push_back(std::move(*part));
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  if (parts.empty()) return nothing_rented(review.design());
  EmittedFiles files = {{"outputs.tf", outputs_tf(source, parts)},
                        {"variables.tf", variables_tf(source, providers, parts)},
                        {"versions.tf", versions_tf(source, providers)}};
  for (const RentedPart& p : parts) {
    files.push_back({"fleet-" + p.name + ".tf", stamp(source, "#") + '\n' + fleet_tf(p)});
  }
  std::ranges::sort(files, {}, &EmittedFile::path);
  return files;
}

}  // namespace orrery::emit
