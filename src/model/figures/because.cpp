#include "model/figures/because.h"

#include <algorithm>
#include <iterator>

namespace orrery::figures {
namespace {

struct Because {
  FigureId id;
  std::string_view text;
};

constexpr std::string_view kBusiest =
    "the review takes the busiest hour; the run weighs all hours by their requests";
constexpr std::string_view kLived =
    "the run lives through the faults that its seed drew; the review takes their mean";
constexpr std::string_view kMetered =
    "the run meters the work that it had, hour by hour; the review spreads the planned work evenly";
constexpr std::string_view kShared =
    "in the run stages wait for hosts, tiers and lines that others hold; the review has each alone";

constexpr Because kBecauses[] = {
    {FigureId::ttft, kBusiest},
    {FigureId::ttft_p99, kBusiest},
    {FigureId::tpot, kBusiest},
    {FigureId::tpot_p99, kBusiest},
    {FigureId::latency_p99, kBusiest},
    {FigureId::task_time, kBusiest},
    {FigureId::task_p99, kBusiest},
    {FigureId::answer_time, kBusiest},
    {FigureId::cache_found,
     "the run sees what other conversations crowd out, and homes that are loaded unevenly"},
    {FigureId::failover_ttft_p99,
     "the run sends all users elsewhere at once, with the requests that begin anew; the review "
     "takes the steady state after it"},
    {FigureId::availability,
     "the run lives through faults, outages and their repair in the simulated time; the review "
     "takes the share of a year"},
    {FigureId::goodput, kLived},
    {FigureId::useful_rate, kLived},
    {FigureId::useful_samples, kLived},
    {FigureId::run_time, kLived},
    {FigureId::restart, kLived},
    {FigureId::mean_wait,
     "the run queues every job as the scheduler does; the review takes a formula of queues"},
    {FigureId::duration,
     "in the run elements wait for places and are lost with hosts; the review has all at once"},
    {FigureId::clean_hold, kMetered},
    {FigureId::clean_ratio, kMetered},
    {FigureId::stage_start, kShared},
    {FigureId::stage_end, kShared},
    {FigureId::stage_time, kShared},
    {FigureId::lead, kShared},
    {FigureId::freshness, kShared},
    {FigureId::it_mean, kMetered},
    {FigureId::energy_year, kMetered},
    {FigureId::carbon_year, kMetered},
    {FigureId::pue, "the run takes the PUE at the draw that it saw, the review at the planned one"},
};

}  // namespace

std::string_view because(FigureId id) {
  const auto row = std::ranges::find(kBecauses, id, &Because::id);
  return row == std::end(kBecauses) ? std::string_view() : row->text;
}

}  // namespace orrery::figures
