// The edits that findings offer: one text at one path of the design, which cures the finding.
//
// An edit states what has to be bought, moved or switched on. It never loosens what the author asks
// for: no goal, deadline, window or objective. Amounts are rounded towards the cure, and the
// finding's text names the amount that the edit writes. If a cure takes two lines (a larger fleet,
// and nodes for a workload), the first is offered, and the next review offers the second. If the
// choice is the author's (another model, another country), there is no edit, and the finding says
// what to weigh.
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

// The path of one of the design's tiers, such as "storage[1]".
const std::string& path_of(const review::Review& review, const design::StorageTier& tier);
// The site that a fleet is in.
const review::SiteView& site_of(const review::Review& review, const machine::Fleet& fleet);

// Grows an over-booked fleet to the nodes that its bookings ask for, if the site can carry them;
// otherwise gives the largest booking fewer nodes.
std::optional<Edit> edit_asked(const review::Review& review, const machine::Fleet& fleet);
// Gives a workload the number of nodes that it needs: sets its own `nodes` if the fleet has enough
// to give, otherwise enlarges the fleet.
Edit edit_nodes(const review::Review& review, const design::Workload& workload,
                const machine::Fleet& fleet, int nodes);
// Counts the nodes of the fleet that its workloads ask for by number or cannot do without.
int nodes_asked(const review::Review& review, const machine::Fleet& fleet);
// Returns true if the fleet's site has power and rack positions for `more` further nodes.
bool site_carries(const review::Review& review, const machine::Fleet& fleet, int more_nodes);

// edits.cpp: networks.
// Returns the fabric's storage network as one of its own, built like the compute network. What the
// design already says of it is kept.
design::Network separate_storage(const design::Networks& fabric);
std::optional<Edit> edit_topology(const review::Review& review, const machine::Networks& here,
                                  const machine::Network& network);

// edits_facility.cpp
std::optional<Edit> edit_rack(const review::Review& review, const review::SiteView& site,
                              const review::FleetPower& fleet);
// Returns the cheapest cooling method that carries racks of this power and suits every node of the
// site; nullptr if there is none.
const catalog::CoolingMethod* cooling_for(const review::Review& review,
                                          const review::SiteView& site, Watts rack);
std::optional<Edit> edit_node_cooling(const review::Review& review, const review::SiteView& site);
Edit edit_power(const review::Review& review, const review::SiteView& site);
Edit edit_positions(const review::Review& review, const review::SiteView& site);
// Adds generators if there are none; otherwise batteries that last until the generators carry the
// site.
Edit edit_ride(const review::SiteView& site);

// edits_storage.cpp
std::optional<Edit> edit_save_target(const review::Review& review, const review::TrainView& train);
// Raises the tier's write rate so that a save is safe well before the next failure is due.
std::optional<Edit> edit_safe(const review::TrainView& train);
std::optional<Edit> edit_capacity(const review::Review& review, const machine::Tier& tier);
std::optional<Edit> edit_feed(const review::Review& review, const review::TrainView& train);

// edits_work.cpp
std::optional<Edit> edit_step(const review::TrainView& train);
std::optional<Edit> edit_batch(const review::TrainView& train);
std::optional<Edit> edit_split(const review::Review& review, const review::ServeView& serve);
Edit edit_service(const review::Review& review, const review::ServeView& serve);
std::optional<Edit> edit_availability(const review::Review& review, const review::ServeView& serve);
// Returns true if the site is without power for longer than the workload may be down: more replicas
// cannot help.
bool is_dark_too_long(const review::ServeView& serve);
// Adds replicas for the requests that find no room, in the zone that they are sent to first.
std::optional<Edit> edit_failover(const review::Review& review, const review::ServeView& serve);
// Returns a number of nodes with which the run ends in time, found by trying; nothing if no number
// does.
std::optional<Edit> edit_deadline(const review::Review& review, const review::TrainView& train,
                                  Seconds bound);
std::optional<Edit> edit_window(const review::Review& review, const review::BatchView& batch);
Edit edit_sizes(const review::Review& review, const review::JobsView& jobs);
Edit edit_load(const review::Review& review, const review::JobsView& jobs);
Edit edit_slices(const review::Review& review, const review::MigView& mig);
Edit edit_spares(const review::TrainView& train);

}  // namespace orrery::rules
