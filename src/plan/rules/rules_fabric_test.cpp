#include <gtest/gtest.h>

#include "plan/review/lab_fixture.h"
#include "plan/rules/findings_fixture.h"

namespace orrery::rules {
namespace {

TEST(RulesFabric, network_that_cannot_be_built) {
  const review::Review r = review::edited_review(
      "superpod-h100",
      {{"fabric.compute.topology", "torus"}, {"fabric.compute.dimensions", "[3, 3]"}});
  expect_finding(r, only_finding(r, "fabric.buildable"), "fabric.compute.topology",
                 "fabric.compute.topology = rail-fat-tree");
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.buildable").empty());
}

TEST(RulesFabric, nics_without_ports) {
  const review::Review by_ports =
      review::edited_review("superpod-h100", {{"fabric.compute.ports_per_node", "4"}});
  expect_finding(by_ports, only_finding(by_ports, "fabric.endpoints"),
                 "fabric.compute.ports_per_node", "fabric.compute.ports_per_node = ");
  const review::Review by_rails =
      review::edited_review("superpod-gb200", {{"fabric.compute.rails", "2"}});
  const Finding f = only_finding(by_rails, "fabric.endpoints");
  EXPECT_EQ(edit_of(f), "fabric.compute.rails = ");
  for (const char* name : {"superpod-h100", "superpod-b300", "superpod-gb200", "av-vision"}) {
    EXPECT_TRUE(findings_by(review::lab_review(name), "fabric.endpoints").empty()) << name;
  }
}

TEST(RulesFabric, tier_in_a_site_without_a_line) {
  const review::Review r = review::edited_review(
      "medical-imaging", {{"fabric.wan", ""}, {"storage[0].site", "hospital-a"}});
  const auto all = findings_by(r, "fabric.sites-joined");
  ASSERT_GE(all.size(), 1U);
  expect_finding(r, all[0], "workloads[0].train");
  EXPECT_TRUE(findings_by(review::lab_review("medical-imaging"), "fabric.sites-joined").empty());
}

TEST(RulesFabric, storage_on_the_compute_network) {
  review::Review r = review::edited_review("superpod-h100", {{"fabric.storage.converged", "true"}});
  r.trains[0].contention = 0.034;
  expect_finding(r, only_finding(r, "fabric.separate-storage"), "fabric.storage.converged",
                 "fabric.storage.converged = false");
  const review::Review bare =
      review::edited_review("superpod-h100", {{"fabric.storage", "{ converged: true }"}});
  const std::string edit = edit_of(only_finding(bare, "fabric.separate-storage"));
  EXPECT_EQ(edit.find("fabric.storage = { topology: fat-tree, switch: qm9700"), 0U) << edit;
  EXPECT_NE(edit.find("routing: adaptive"), std::string::npos) << edit;
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.separate-storage").empty());
}

TEST(RulesFabric, roce_checklist) {
  const review::Review r = review::edited_review(
      "av-vision", {{"fabric.compute.roce.pfc", ""}, {"fabric.compute.roce.ecn", "false"}});
  const auto all = findings_by(r, "fabric.roce-checklist");
  ASSERT_EQ(all.size(), 2U);
  expect_finding(r, all[0], "fabric.compute.roce.pfc", "fabric.compute.roce.pfc = true");
  const review::Review none = review::edited_review("av-vision", {{"fabric.compute.roce", ""}});
  EXPECT_EQ(findings_by(none, "fabric.roce-checklist").size(), 6U);
  EXPECT_TRUE(findings_by(review::lab_review("av-vision"), "fabric.roce-checklist").empty());
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.roce-checklist").empty());
}

// Two senders hold twice Xoff when the first is paused: marking must begin below that.
TEST(RulesFabric, ecn_must_mark_before_pfc_pauses) {
  const auto with = [](const char* kmin) {
    return review::edited_review("av-vision", {{"fabric.compute.roce.ecn_kmin", kmin},
                                               {"fabric.compute.roce.xoff", "400 kB"}});
  };
  const review::Review r = with("800 kB");
  expect_finding(r, only_finding(r, "fabric.marks-first"), "fabric.compute.roce.ecn_kmin",
                 "fabric.compute.roce.ecn_kmin = 80 kB");
  EXPECT_TRUE(findings_by(with("799 kB"), "fabric.marks-first").empty());
}

TEST(RulesFabric, ethernet_at_800g_needs_two_planes) {
  const std::vector<design_text::Change> ethernet = {{"fabric.compute.switch", "sn5600"},
                                                     {"fabric.compute.protocol", "roce"}};
  const review::Review r = review::edited_review("superpod-b300", ethernet);
  expect_finding(r, only_finding(r, "fabric.ethernet-800g"), "fabric.compute.topology",
                 "fabric.compute.topology = twin-plane");
  EXPECT_TRUE(findings_by(review::lab_review("superpod-b300"), "fabric.ethernet-800g").empty());
  EXPECT_TRUE(findings_by(review::lab_review("inference-pod"), "fabric.ethernet-800g").empty())
      << "400";
}

TEST(RulesFabric, emerging_links_and_switches) {
  const review::Review r =
      review::edited_review("superpod-h100", {{"fleet[0].custom", "{ scale_up: ualink-200 }"}});
  const Finding f = only_finding(r, "fabric.emerging");
  EXPECT_EQ(f.place.line, place_of(r.design(), "fleet[0].custom.scale_up").line);
  const review::Review cpo =
      review::edited_review("superpod-b200", {{"fabric.compute.switch", "q3450-cpo"}});
  const Finding parts = only_finding(cpo, "fabric.emerging");
  EXPECT_EQ(parts.place.line, place_of(cpo.design(), "fabric.compute.switch").line);
  EXPECT_TRUE(findings_by(review::lab_review("superpod-h100"), "fabric.emerging").empty());
}

TEST(RulesFabric, emerging_parts_are_named_by_their_row) {
  review::Pod pod;
  EXPECT_FALSE(finding_of(pod.review(), "fabric.emerging"));
  for (const auto& [part, row] : {std::pair{"q3450-cpo", "emerging/cpo-quantum-x:"},
                                  std::pair{"sn6810-cpo", "emerging/cpo-spectrum-x:"}}) {
    pod.compute = std::string("topology: fat-tree, switch: ") + part;
    const auto f = finding_of(pod.review(), "fabric.emerging");
    ASSERT_TRUE(f) << part;
    EXPECT_NE(f->why.find(row), std::string::npos) << f->why;
    EXPECT_EQ(f->why.find("no row"), std::string::npos) << f->why;
  }
  pod.compute = "topology: fat-tree, switch: sn5600, protocol: ultra-ethernet";
  EXPECT_NE(finding_of(pod.review(), "fabric.emerging")->why.find("emerging/uec-800:"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::rules
