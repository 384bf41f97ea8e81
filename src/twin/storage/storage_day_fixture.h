// For tests: a machine of two sites and four tiers made by hand, and runs on it whose plans are
// numbers, so that a day of its storage can be computed on paper.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "twin/storage/storage_run.h"

namespace orrery::twin_storage {

struct MadeDay {
  MadeDay() {
    d->sites = {design::Site{.name = "here"}, design::Site{.name = "there"}};
    d->fleet.resize(1);
    d->storage = {{.tier = design::Tier::node_nvme, .kind = design::TierKind::local_nvme},
                  {.tier = design::Tier::hot, .kind = design::TierKind::parallel_fs},
                  {.tier = design::Tier::cold, .kind = design::TierKind::object},
                  {.tier = design::Tier::warm, .kind = design::TierKind::nfs}};
    m.wanted = d;
    m.fleets.resize(1);
    m.fleets[design::FleetIndex(0)].fleet = &d->fleet[0];
    m.fleets[design::FleetIndex(0)].site = &d->sites[0];
    m.fleets[design::FleetIndex(0)].accelerators_per_host = 2;
    m.networks.resize(1);
    m.networks[design::SiteIndex(0)].site = &d->sites[0];
    m.networks[design::SiteIndex(0)].compute.ports_per_node = 2;
    m.networks[design::SiteIndex(0)].compute.port_rate = gbytes_per_s(25);
    m.networks[design::SiteIndex(0)].storage.ports_per_node = 1;
    m.networks[design::SiteIndex(0)].storage.port_rate = gbytes_per_s(10);
    m.tiers.resize(4);
    const char* const labels[] = {"drives", "hot", "cold", "files"};
    for (std::size_t t = 0; t < 4; ++t) {
      m.tiers[design::TierIndex(t)].index = design::TierIndex(t);
      m.tiers[design::TierIndex(t)].tier = &d->storage[t];
      m.tiers[design::TierIndex(t)].label = labels[t];
      m.tiers[design::TierIndex(t)].creates = storage::kUnlimitedCreates;
      m.tiers[design::TierIndex(t)].stream_rate = gbytes_per_s(20);
      m.tiers[design::TierIndex(t)].client_streams = 2;
    }
    m.tiers[design::TierIndex(0)].per_node = true;
    set_rates(0, 20, 10);
    set_rates(1, 40, 6);
    set_rates(2, 30, 9);
    set_rates(3, 8, 4);
    m.tiers[design::TierIndex(3)].servers = 4;
  }
  MadeDay(const MadeDay&) = delete;
  MadeDay& operator=(const MadeDay&) = delete;

  void set_rates(std::size_t tier, double read_gb, double write_gb) {
    m.tiers[design::TierIndex(tier)].read = gbytes_per_s(read_gb);
    m.tiers[design::TierIndex(tier)].write = gbytes_per_s(write_gb);
  }

  jobs::TrainJob& add_run(int hosts) {
    asks.emplace_back();
    jobs::TrainJob& job = trains.emplace_back();
    job.train = &asks.back();
    job.label = "run " + std::to_string(trains.size() - 1);
    job.fleet = &m.fleets[design::FleetIndex(0)];
    job.hosts = hosts;
    return job;
  }

  // Every 100 s, with a snapshot of 1.5 s; each of its hosts has `gb`.
  jobs::SavePlan& add_saves(const std::vector<std::string>& to, double gb) {
    asks.back().checkpoint = design::Checkpoint{.to = to};
    jobs::SavePlan plan;
    plan.load.busiest_node = gigabytes(gb);
    plan.load.other_node = gigabytes(gb);
    plan.interval = seconds(100);
    plan.stall.snapshot = seconds(1.5);
    plan.stall.total = seconds(1.5);
    plan.write.commit = seconds(2);
    trains.back().checkpoint = plan;
    return *trains.back().checkpoint;
  }

  jobs::FeedPlan& add_feed(std::size_t tier, double wanted_gb) {
    jobs::FeedPlan& feed = trains.back().feed;
    feed.known = true;
    feed.tier = &m.tiers[design::TierIndex(tier)];
    feed.wanted = gbytes_per_s(wanted_gb);
    feed.loader.utilisation = 1;
    return feed;
  }

  StorageRun run(const StorageOptions& options = {.span = seconds(500)}) const {
    return run_storage({.machine = &m, .trains = trains, .horizon = horizon}, options);
  }

  std::shared_ptr<design::Design> d = std::make_shared<design::Design>();
  std::deque<design::Train> asks;
  machine::Machine m;
  std::vector<jobs::TrainJob> trains;
  Seconds horizon = days(2);
};

}  // namespace orrery::twin_storage
