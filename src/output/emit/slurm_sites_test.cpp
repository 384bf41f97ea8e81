// Slurm over several sites: the power that each may give, whose it is that a run asks for, and
// racks of many hosts in reservations.
#include <gmock/gmock.h>

#include "output/emit/rows_fixture.h"
#include "output/emit/slurm.h"

namespace orrery::emit {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSitesDesign = R"(
orrery: 1
name: lands
sites:
  - { name: north, region: deu, power: 500 kW }
  - { name: middle, region: deu }
  - { name: south, region: deu, power: 300 kW }
fleet:
  - { name: ice, site: north, node: dgx-h100, count: 4 }
  - { name: rock, site: middle, node: dgx-h100, count: 2 }
  - { name: sand, site: south, node: dgx-h100, count: 6, spares: 1 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler: { kind: slurm, power_aware: true }
workloads:
  - train: { name: cold, fleet: ice, nodes: 2, model: llama-3-8b, tokens: 20B, batch: 256 }
  - train: { name: hard, fleet: rock, nodes: 2, model: llama-3-8b, tokens: 20B, batch: 256 }
  - train: { name: warm, fleet: sand, nodes: 4, model: llama-3-8b, tokens: 20B, batch: 256 }
)";

// A node of `ice` rises from 1 to 9 kW, one of `sand` from 2 to 9.5.
std::unique_ptr<ReviewedExample> planned_sites() {
  auto r = reviewed_as_pods(read_text(kSitesDesign));
  std::vector<review::SiteView>& sites = r->review->sites;
  EXPECT_EQ(sites.size(), 3U);
  for (review::SiteView& s : sites) {
    s.pue.middle = 1.25;
    s.fabric = kilowatts(3);
    s.storage = kilowatts(0.5);
  }
  sites[0].fleets[0].node.idle = kilowatts(1);
  sites[0].fleets[0].node.peak = kilowatts(9);
  sites[2].fleets[0].node.idle = kilowatts(2);
  sites[2].fleets[0].node.peak = kilowatts(9.5);
  return r;
}

std::string sites_line(const std::string& text, std::string_view start) {
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return "none";
  return text.substr(at, text.find('\n', at) - at);
}

// North: 500 / 1.25 - 3.5 - 4 are 392.5 kW. South: 300 / 1.25 - 3.5 - 7 * 2 are 222.5.
TEST(SlurmSites, EachSiteWithAFeedHasItsKilowatts) {
  const auto r = planned_sites();
  const EmittedFiles files = rows_files(*r);
  EXPECT_EQ(sites_line(text_of(files, "slurm.conf"), "Licenses="),
            "Licenses=site1_kw:392,site3_kw:222");
  r->review->sites[0].pue.middle = 1000;
  EXPECT_EQ(sites_line(text_of(rows_files(*r), "slurm.conf"), "Licenses="),
            "Licenses=site1_kw:0,site3_kw:222")
      << "what is always on takes more than there is";
}

// Two nodes rise by 16 kW, four by 30.
TEST(SlurmSites, ARunAsksForPowerWhereItRuns) {
  const EmittedFiles files = rows_files(*planned_sites());
  EXPECT_EQ(sites_line(text_of(files, "submit-cold.sh"), "#SBATCH --licenses="),
            "#SBATCH --licenses=site1_kw:16");
  EXPECT_EQ(sites_line(text_of(files, "submit-hard.sh"), "#SBATCH --licenses="), "none");
  EXPECT_EQ(sites_line(text_of(files, "submit-warm.sh"), "#SBATCH --licenses="),
            "#SBATCH --licenses=site3_kw:30");
}

TEST(SlurmSites, WithoutFeedsNothingIsCounted) {
  const auto r = planned_sites();
  design::Design plain = r->design;
  for (design::Site& s : plain.sites) s.power.reset();
  EXPECT_THAT(text_of(rows_files(*reviewed_as_pods(plain)), "slurm.conf"),
              Not(HasSubstr("Licenses")));
}

// A rack of gb200-nvl72 is 18 hosts, so two of four are the last 36 of 72.
TEST(SlurmSites, AReservationOfRacksIsOfTheirHosts) {
  design::Design design = read_text(R"(
orrery: 1
name: racks
site: { region: deu }
fleet:
  - { name: rack, node: gb200-nvl72, count: 4 }
fabric: { compute: { topology: fat-tree, switch: qm9700 } }
scheduler:
  kind: slurm
  reservations:
    - { name: firmware, nodes: 2, start: 1 h, duration: 30 min }
)");
  const auto made = [&design] {
    return sites_line(text_of(rows_files(*reviewed_as_pods(design)), "reservations.sh"),
                      "make firmware");
  };
  EXPECT_THAT(made(), HasSubstr("'Nodes=rack-[37-72]'"));
  design.scheduler.reservations[0].nodes = 4;
  EXPECT_THAT(made(), HasSubstr("'Nodes=rack-[01-72]'"));
  design.scheduler.reservations[0].nodes.reset();
  EXPECT_THAT(made(), HasSubstr("'Nodes=rack-[01-72]'"));
}

}  // namespace
}  // namespace orrery::emit
