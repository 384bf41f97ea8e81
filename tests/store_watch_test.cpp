// The alerts and the dashboard that are shipped with the store use metrics that the store has.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "live/s3server/status.h"

namespace orrery {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream from(std::string(ORRERY_SOURCE_DIR) + "/packaging/" + file);
  std::ostringstream text;
  text << from.rdbuf();
  return text.str();
}

std::set<std::string> metrics_in(const std::string& text) {
  std::set<std::string> found;
  const std::regex name("orrery_store_[a-z_]+");
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
    found.insert(at->str());
  }
  return found;
}

std::string all_metrics() {
  s3server::GatewayCounts requests;
  s3server::MoveCounts moves;
  net::ServerLoad load;
  s3server::StoreStatus status{.requests = &requests, .moves = &moves, .load = &load};
  status.tiers.push_back({.name = "hot", .plan = {4, 2}});
  status.drives.push_back({.name = "hot-0", .tier = "hot", .there = true, .space = {100, 50}});
  status.buckets["pail"] = {.bytes = 1, .objects = 1};
  return s3server::metrics_text(status);
}

TEST(StoreWatch, alerts_and_dashboard_use_metrics_of_the_store) {
  const std::string shown = all_metrics();
  for (const char* file : {"prometheus/orrery-store.rules.yml", "grafana/orrery-store.json"}) {
    const auto names = metrics_in(text_of(file));
    EXPECT_GE(names.size(), 8u) << file;
    for (const std::string& name : names) {
      EXPECT_NE(shown.find('\n' + name), std::string::npos) << file << " reads " << name;
    }
  }
}

TEST(StoreWatch, the_dashboard_shows_every_metric_but_few) {
  const auto shown = metrics_in(text_of("grafana/orrery-store.json"));
  const std::set<std::string> left_out = {
      "orrery_store_tier_reads_total", "orrery_store_tier_parity",
      "orrery_store_scrub_rounds_total", "orrery_store_bucket_objects"};
  const std::regex head("# TYPE (orrery_store_[a-z_]+) ([a-z]+)");
  const std::string text = all_metrics();
  for (std::sregex_iterator at(text.begin(), text.end(), head), end; at != end; ++at) {
    const std::string name = (*at)[1].str() + ((*at)[2] == "histogram" ? "_bucket" : "");
    EXPECT_TRUE(shown.contains(name) || left_out.contains(name)) << name;
  }
}

}  // namespace
}  // namespace orrery
