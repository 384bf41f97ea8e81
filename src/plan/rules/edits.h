// The edits that findings offer: one text at one path of the design, which cures the finding.
//
// An edit states what has to be bought, moved or switched on. It never loosens what the author asks
// for: no goal, deadline, window or objective. Amounts are rounded towards the cure, and what the
// finding's text says is what the edit writes. Where a cure takes two lines (a fleet grown, a
// workload given its nodes) the first is offered, and the next review offers the second. Where the
// choice is the author's (another model, another country) there is none, and the finding says what
// to weigh.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/design_text/change.h"
#include "model/design_text/value_reader.h"
#include "model/figures/assumptions.h"
#include "plan/review/stages.h"
#include "plan/rules/finding.h"

namespace orrery::rules {

using Edit = design_text::Change;
using design_text::at_least;
using design_text::list_text;
using design_text::name_text;

// The largest count that a design file takes.
inline constexpr int kMostNodes = static_cast<int>(design_text::kMostCount);

using figures::assumptions::kShortfallAllowed;

// The path of one of the design's tiers: "storage[1]".
const std::string& path_of(const review::Review& review, const design::StorageTier& tier);
// The site where a fleet stands.
const review::SiteView& site_of(const review::Review& review, const machine::Fleet& fleet);

// As many nodes of an over-booked fleet as its book asks for where the site carries them, else
// fewer for the largest booking.
std::optional<Edit> edit_asked(const review::Review& review, const machine::Fleet& fleet);
// So many nodes of the fleet for a workload: its own `nodes` where the fleet has them to give, else
// a larger fleet.
Edit edit_nodes(const review::Review& review, const design::Workload& workload,
                const machine::Fleet& fleet, int nodes);
// Nodes of the fleet that its workloads ask for by number, or cannot do without.
int nodes_asked(const review::Review& review, const machine::Fleet& fleet);
// Whether the fleet's site has power and positions for so many nodes more.
bool site_carries(const review::Review& review, const machine::Fleet& fleet, int more_nodes);

// edits.cpp: networks.
// Storage's own network, as the compute network is built: what the design says of it already stays.
design::Network separate_storage(const design::Networks& fabric);
std::optional<Edit> edit_topology(const review::Review& review, const machine::Networks& here,
                                  const machine::Network& network);

// edits_facility.cpp
std::optional<Edit> edit_rack(const review::Review& review, const review::SiteView& site,
                              const review::FleetPower& fleet);
// The cheapest method that carries racks of this power and suits every node of the site; nullptr
// where none does.
const catalog::CoolingMethod* cooling_for(const review::Review& review,
                                          const review::SiteView& site, Watts rack);
std::optional<Edit> edit_node_cooling(const review::Review& review, const review::SiteView& site);
Edit edit_power(const review::Review& review, const review::SiteView& site);
Edit edit_positions(const review::Review& review, const review::SiteView& site);
// Generators where there are none, then batteries that last until they carry the site.
Edit edit_ride(const review::SiteView& site);

// edits_storage.cpp
std::optional<Edit> edit_save_target(const review::Review& review, const review::TrainView& train);
// A write rate at which a save is safe well before the next failure.
std::optional<Edit> edit_safe(const review::TrainView& train);
std::optional<Edit> edit_capacity(const review::Review& review, const machine::Tier& tier);
std::optional<Edit> edit_feed(const review::Review& review, const review::TrainView& train);

// edits_work.cpp
std::optional<Edit> edit_step(const review::TrainView& train);
std::optional<Edit> edit_batch(const review::TrainView& train);
std::optional<Edit> edit_split(const review::Review& review, const review::ServeView& serve);
Edit edit_service(const review::Review& review, const review::ServeView& serve);
std::optional<Edit> edit_availability(const review::Review& review, const review::ServeView& serve);
// What its site is without power for is more than may be missed, replicas or no.
bool is_dark_too_long(const review::ServeView& serve);
// Replicas for those that find no room, where they are asked first.
std::optional<Edit> edit_failover(const review::Review& review, const review::ServeView& serve);
// Nodes with which the run ends in time: tried, and none where no number of them does.
std::optional<Edit> edit_deadline(const review::Review& review, const review::TrainView& train,
                                  Seconds bound);
std::optional<Edit> edit_window(const review::Review& review, const review::BatchView& batch);
Edit edit_sizes(const review::Review& review, const review::JobsView& jobs);
Edit edit_load(const review::Review& review, const review::JobsView& jobs);
Edit edit_slices(const review::Review& review, const review::MigView& mig);
Edit edit_spares(const review::TrainView& train);

}  // namespace orrery::rules
