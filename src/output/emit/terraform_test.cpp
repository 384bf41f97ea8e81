// Terraform files, parsed by a small reader of HCL that also checks the format of `terraform fmt`.
#include "output/emit/terraform.h"

#include <gmock/gmock.h>

#include <cctype>
#include <map>
#include <optional>

#include "core/base/text.h"
#include "output/emit/pods_fixture.h"
#include "output/emit/review_fixture.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;

Diagnostic first_refusal(const std::string& fleet) {
  const auto r = reviewed_as_pods(
      read_text("orrery: 1\nname: pods\nsite: { region: deu }\nfleet: [" + fleet + "]\n"));
  const auto files = emit_terraform(*r->review, r->source);
  return files ? Diagnostic{.what = "written"} : files.error().front();
}

// A block with its labels, arguments (as text) and inner blocks.
struct Block {
  std::string head;  // "resource aws_instance train"
  std::map<std::string, std::string> arguments;
  std::vector<Block> blocks;

  const Block* find(std::string_view wanted) const {
    for (const Block& b : blocks) {
      if (b.head == wanted) return &b;
    }
    return nullptr;
  }
};

// Reads what the writer writes: one block header, argument or brace per line.
class Reader {
 public:
  explicit Reader(std::string_view text) : lines_(split(text, '\n')) {}

  std::optional<Block> run() {
    Block file;
    if (!body(file, 0) || at_ < lines_.size()) return std::nullopt;
    return file;
  }
  const std::string& fault() const { return fault_; }

 private:
  bool fail(std::string_view what) {
    fault_ = "line " + std::to_string(at_ + 1) + ": " + std::string(what);
    return false;
  }

  bool body(Block& into, std::size_t depth) {
    std::size_t column = 0;  // column of `=` in this run of arguments
    bool after_argument = false;
    while (at_ < lines_.size()) {
      const std::string_view line = lines_[at_];
      const std::string_view text = trimmed(line);
      if (text.empty() || text.starts_with('#')) {
        column = 0;
        after_argument = false;
        ++at_;
        continue;
      }
      if (text == "}") return depth > 0 && indent(line) == 2 * (depth - 1);
      if (indent(line) != 2 * depth) return fail("wrong indent");
      if (text.ends_with('{') && text.find('=') == std::string_view::npos) {
        if (after_argument) return fail("no blank line before a block");
        if (!block(into, text, depth)) return false;
        column = 0;
        continue;
      }
      if (!argument(into, line, column)) return false;
      after_argument = true;
    }
    return depth == 0;
  }

  bool block(Block& into, std::string_view text, std::size_t depth) {
    Block b;
    for (const std::string_view word : split(trimmed(text.substr(0, text.size() - 1)), ' ')) {
      std::string plain(word);
      if (plain.starts_with('"') && plain.ends_with('"')) plain = plain.substr(1, plain.size() - 2);
      if (plain.find('"') != std::string::npos) return fail("a label with a quote");
      b.head += (b.head.empty() ? "" : " ") + plain;
    }
    ++at_;
    if (!body(b, depth + 1)) return fault_.empty() ? fail("a block that does not close") : false;
    ++at_;
    into.blocks.push_back(std::move(b));
    return true;
  }

  bool argument(Block& into, std::string_view line, std::size_t& column) {
    const std::size_t equals = line.find(" = ");
    if (equals == std::string_view::npos) return fail("neither argument nor block");
    if (column != 0 && column != equals) return fail("`=` out of line");
    column = equals;
    const std::string name(trimmed(line.substr(0, equals)));
    const std::string value(trimmed(line.substr(equals + 3)));
    if (!balanced(value)) return fail("an unbalanced value");
    if (!into.arguments.emplace(name, value).second) return fail("an argument twice");
    ++at_;
    return true;
  }

  // Returns true if strings are closed and brackets are paired.
  static bool balanced(std::string_view value) {
    int open = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (quoted && value[i] == '\\') {
        ++i;
      } else if (value[i] == '"') {
        quoted = !quoted;
      } else if (!quoted) {
        open += value[i] == '{' || value[i] == '[' ? 1 : 0;
        open -= value[i] == '}' || value[i] == ']' ? 1 : 0;
      }
    }
    return !quoted && open == 0 && !value.empty();
  }

  static std::size_t indent(std::string_view line) { return line.find_first_not_of(' '); }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::string fault_;
};

Block parsed(const EmittedFiles& files, std::string_view path) {
  const std::string text = text_of(files, path);
  Reader reader(text);
  const auto block = reader.run();
  EXPECT_TRUE(block.has_value()) << path << ' ' << reader.fault() << '\n' << text;
  return block.value_or(Block());
}

std::string design_text(std::string_view provider, std::string_view contract,
                        std::string_view node = "dgx-h100") {
  return "orrery: 1\nname: rented\nsite: { region: gcp-us-east4 }\nfleet:\n"
         "  - { name: train, node: " +
         std::string(node) + ", count: 4, spares: 1, rent: { provider: " + std::string(provider) +
         ", contract: " + std::string(contract) + " } }\n";
}

EmittedFiles terraform_of(const std::string& text) {
  const auto r = reviewed(read_text(text));
  const auto files = emit_terraform(*r->review, r->source);
  EXPECT_TRUE(files.has_value()) << (files ? "" : to_text(files.error()));
  return files.value_or(EmittedFiles());
}

TEST(Terraform, every_file_parses_and_is_formatted) {
  for (const char* provider : {"aws", "gcp", "azure"}) {
    for (const char* contract : {"on-demand", "reserved", "spot"}) {
      const EmittedFiles files = terraform_of(design_text(provider, contract));
      for (const EmittedFile& f : files) {
        parsed(files, f.path);
        EXPECT_THAT(f.text, HasSubstr("# orrery-emit: design \"rented\""));
      }
    }
  }
}

TEST(Terraform, aws_spot_is_a_launch_template_option) {
  const EmittedFiles files = terraform_of(design_text("aws", "spot"));
  const Block fleet = parsed(files, "fleet-train.tf");
  const Block* instance = fleet.find("resource aws_instance train");
  ASSERT_NE(instance, nullptr);
  EXPECT_EQ(instance->arguments.at("count"), "5");
  const Block* launch = fleet.find("resource aws_launch_template train");
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->arguments.at("instance_type"), "\"p5.48xlarge\"");
  ASSERT_NE(launch->find("instance_market_options"), nullptr);
  EXPECT_EQ(launch->find("instance_market_options")->arguments.at("market_type"), "\"spot\"");
}

// A capacity block is bought from aws and is not a spot instance.
TEST(Terraform, aws_capacity_blocks_are_a_market_type) {
  const EmittedFiles files = terraform_of(design_text("aws-capacity-block", "reserved"));
  const Block fleet = parsed(files, "fleet-train.tf");
  const Block* launch = fleet.find("resource aws_launch_template train");
  ASSERT_NE(launch, nullptr);
  ASSERT_NE(launch->find("instance_market_options"), nullptr);
  EXPECT_EQ(launch->find("instance_market_options")->arguments.at("market_type"),
            "\"capacity-block\"");
  const Block plain = parsed(terraform_of(design_text("aws", "reserved")), "fleet-train.tf");
  EXPECT_EQ(plain.find("resource aws_launch_template train")->find("instance_market_options"),
            nullptr);
}

// The region of a provider is that of the fleet rented from it.
TEST(Terraform, a_provider_gets_the_region_of_its_own_fleet) {
  const EmittedFiles files = terraform_of(
      "orrery: 1\nname: two\nsites:\n  - { name: a, region: gcp-us-east4 }\n"
      "  - { name: b, region: gcp-us-central1 }\nfleet:\n"
      "  - { name: first, site: a, node: dgx-h100, count: 2, rent: { provider: aws, contract: "
      "on-demand } }\n"
      "  - { name: second, site: b, node: dgx-h100, count: 2, rent: { provider: gcp, contract: "
      "on-demand } }\n");
  const Block variables = parsed(files, "variables.tf");
  ASSERT_NE(variables.find("variable gcp_region"), nullptr);
  EXPECT_EQ(variables.find("variable gcp_region")->arguments.at("default"), "\"us-central1\"");
}

TEST(Terraform, gcp_gets_the_region_of_the_site) {
  const EmittedFiles files = terraform_of(design_text("gcp", "reserved"));
  const Block variables = parsed(files, "variables.tf");
  ASSERT_NE(variables.find("variable gcp_region"), nullptr);
  EXPECT_EQ(variables.find("variable gcp_region")->arguments.at("default"), "\"us-east4\"");
  const Block fleet = parsed(files, "fleet-train.tf");
  const Block* instance = fleet.find("resource google_compute_instance train");
  ASSERT_NE(instance, nullptr);
  EXPECT_EQ(instance->arguments.at("machine_type"), "\"a3-highgpu-8g\"");
  EXPECT_NE(instance->find("reservation_affinity"), nullptr);
}

// The rental template itself.
TEST(Terraform, coreweave_machines_are_a_node_pool) {
  const auto r = reviewed(read_template("cloud-rental"));
  const auto files = emit_terraform(*r->review, r->source);
  ASSERT_TRUE(files) << to_text(files.error());
  const std::string& name = r->review->fleets().front().fleet->name;
  const std::string fleet = text_of(*files, "fleet-" + name + ".tf");
  EXPECT_THAT(fleet, testing::AllOf(testing::HasSubstr("kind = \"NodePool\""),
                                    testing::HasSubstr("instanceType = \"gd-8xh100ib-i128\""),
                                    testing::HasSubstr("targetNodes = 32")));
  EXPECT_THAT(text_of(*files, "variables.tf"), testing::HasSubstr("coreweave_kubeconfig"));
}

TEST(Terraform, unknown_rentals_are_refused) {
  const auto code = [](const std::string& text) {
    const auto r = reviewed(read_text(text));
    const auto files = emit_terraform(*r->review, r->source);
    return files ? std::string("written") : files.error().front().code;
  };
  EXPECT_EQ(code(design_text("lambda", "reserved")), "emit.provider");
  EXPECT_EQ(code(design_text("azure", "spot", "dgx-b200")), "emit.instance");
  const auto owned = reviewed(read_template("superpod-h100"));
  EXPECT_EQ(emit_terraform(*owned->review, owned->source).error().front().code,
            "emit.nothing-rented");
}

TEST(Terraform, the_reader_of_these_tests_sees_bad_formatting) {
  const auto reads = [](std::string_view text) { return Reader(text).run().has_value(); };
  EXPECT_TRUE(reads("a {\n  b   = 1\n  cde = \"x\"\n}\n"));
  EXPECT_FALSE(reads("a {\n  b = 1\n  cde = \"x\"\n}\n"));
  EXPECT_FALSE(reads("a {\n b = 1\n}\n"));
  EXPECT_FALSE(reads("a {\n  b = \"x\n}\n"));
  EXPECT_FALSE(reads("a {\n  b = 1\n"));
}

TEST(Terraform, refusals_have_code_and_place) {
  const Diagnostic who =
      first_refusal("{ name: a, node: dgx-h100, count: 1, rent: { provider: lambda } }");
  EXPECT_EQ(who.code, "emit.provider");
  EXPECT_EQ(who.place.line, 4);
  const Diagnostic what =
      first_refusal("{ name: a, node: dgx-b300, count: 1, rent: { provider: coreweave } }");
  EXPECT_EQ(what.code, "emit.instance");
  EXPECT_THAT(what.why, HasSubstr("8 x h100-sxm"));
  const Diagnostic owned = first_refusal("{ name: a, node: dgx-h100, count: 1 }");
  EXPECT_EQ(owned.code, "emit.nothing-rented");
  const Diagnostic name =
      first_refusal("{ name: 9a, node: dgx-h100, count: 1, rent: { provider: aws } }");
  EXPECT_EQ(name.code, "emit.name");
}

}  // namespace
}  // namespace orrery::emit
