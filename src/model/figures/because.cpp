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
    "the run has the faults that its seed drew; the review takes their mean";
constexpr std::string_view kMetered =
    "the run meters its actual work hour by hour; the review spreads the planned work evenly";
constexpr std::string_view kShared =
    "in the run, stages wait for hosts, tiers and lines that others use; the review takes each "
    "stage alone";

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
     "the run counts what other conversations evict and home replicas that are loaded unevenly"},
    {FigureId::failover_ttft_p99,
     "the run sends all users elsewhere at once, with the requests that start over; the review "
     "takes the steady state after that"},
    {FigureId::availability,
     "the run counts faults, outages and repairs in the simulated time; the review takes the share "
     "of a year"},
    {FigureId::goodput, kLived},
    {FigureId::useful_rate, kLived},
    {FigureId::useful_samples, kLived},
    {FigureId::run_time, kLived},
    {FigureId::restart, kLived},
    {FigureId::mean_wait,
     "the run queues every job as the scheduler does; the review uses a queueing formula"},
    {FigureId::duration,
     "in the run, pieces of the batch wait for places and are lost with hosts; the review starts "
     "all at once"},
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
    {FigureId::pue,
     "the run takes the PUE at the simulated draw; the review takes it at the planned draw"},
};

}  // namespace

std::string_view because(FigureId id) {
  const auto row = std::ranges::find(kBecauses, id, &Because::id);
  return row == std::end(kBecauses) ? std::string_view() : row->text;
}

}  // namespace orrery::figures
