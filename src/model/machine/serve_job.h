// A service of the design as a question to the serving model: whose requests, how long, on which
// replica. plan/ answers it in closed form and twin/ runs it in time; both start here.
//
// Built-in mixes: chat and code are the medians and 99th percentiles of the Azure 2023 conversation
// and code traces; summary is assumed, its 99th percentiles at four medians. Lengths of a mix are
// log-normal, of mean median exp(s^2 / 2) with s = ln(p99 / median) / 2.326: a closed form loads a
// replica with the means. Lengths that the design gives are means, and every request then has them.
// Speculation: three guesses a step, of which 2.3 tokens come out with the one that is sure
// (published acceptance of small drafts, 0.6 to 0.7 a guess), at the cost of the draft's own steps.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "model/design/design.h"
#include "model/machine/machine.h"
#include "model/machine/predict_sessions.h"
#include "layers/serving/retrieval.h"
#include "layers/serving/talks.h"

namespace orrery::machine {

// Requests of one origin: people and programs who ask a service itself, or another service that
// escalates to it. All days have their peak at the same hour, so peaks add up.
struct RequestStream {
  PerSecond rate;   // mean
  double peak = 1;  // busiest hour over it
};
std::vector<RequestStream> streams_into(const design::Design& design,
                                        const design::Workload& service);

// Of talks a request is a mean turn with what was said before it, all of which a prefix cache is
// taken to have until settle_talks() knows better.
serving::RequestShape request_of(const Machine& machine, const design::Serve& serve);

// Settles what a replica's cache still has of the talks with what a replica then carries; requests
// that are no turns stay as they are.
struct TalkAsk {
  serving::ServingTarget target;
  PerSecond peak;
  std::optional<double> replicas;  // none: as many as the peak needs
  double load = 0.8;               // of what a replica carries
};
void settle_talks(serving::RequestShape& request, const design::Serve& serve,
                  const serving::Replica& replica, const serving::ServingCosts& costs,
                  const TalkAsk& ask);

struct ServeLengths {
  serving::LengthLaw prompt;                // of a task, its first call's
  std::optional<serving::LengthLaw> later;  // what a tool's answer brings to the others
  serving::LengthLaw output;
};
ServeLengths lengths_of(const design::Serve& serve);

// With its tensor split left to the caller.
ServingQuery serving_query(const Models& models, const design::Serve& serve,
                           const catalog::ModelShape& model, const Fleet& fleet,
                           const serving::RequestShape& request);

// A bound on whole requests or tasks bounds their tokens: none may take longer than its share.
serving::ServingTarget target_of(const design::Serve& serve, double output_tokens);
// A task of the service's agents, at a replica's load; of one call where it has none.
serving::TaskCase task_of(const design::Serve& serve, const serving::RequestShape& request,
                          const serving::ServingPoint& point);

// Prefill and decode on replicas of their own: as many of each as the peak needs at a share of what
// one can, or the prefill replicas that the design gives.
struct ApartSize {
  double prefill = 0;
  double decode = 0;
  PerSecond prefill_rate;  // of one replica
  PerSecond decode_rate;
  double running = 0;  // requests of a decode replica, at most
  std::string infeasible;

  PerSecond per_replica() const {
    return min(prefill_rate * prefill, decode_rate * decode) / (prefill + decode);
  }
};
struct ApartAsk {
  PerSecond peak;
  std::optional<int> prefill;
  double load = 0.8;
};
ApartSize apart_size(const serving::Replica& replica, const serving::ServingCosts& costs,
                     const serving::RequestShape& request, const serving::ServingTarget& target,
                     BytesPerSecond link, const ApartAsk& ask);

// Requests a second by the hour of the day: the highest over the mean is `peak`, at most 24, in the
// fifteenth hour.
//   rate(hour) = mean exp(k cos(2 pi (hour - 15) / 24)) / (mean of that), k so that max = peak
std::array<double, 24> day_of_requests(double mean, double peak);
// Of all streams together, a share of each.
std::array<double, 24> day_of_streams(const std::vector<RequestStream>& streams, double share);

// Replicas that an autoscaler's target calls for at a rate, within its bounds, given the requests a
// second at which one replica has the target in flight.
int replicas_called(const design::Autoscale& scale, double rate, double rate_at_target);
// That rate in closed form: X at which R decode and X TTFT wait for their first token.
PerSecond rate_in_flight(const serving::Replica& replica, const serving::RequestShape& request,
                         double in_flight, const serving::ServingCosts& costs);

// What a service reads of its index before a prompt is whole, all services of the tier at their
// peaks. A read takes the tier's latency over what the load leaves free, as of M/M/1; its 99th
// percentile is as the design says, else four times that (assumed).
struct RetrievalAsk {
  const Tier* tier = nullptr;
  serving::RetrievalLaw law;
  PerSecond asked;       // reads
  PerSecond gives;       // that the tier's drives and its rate allow
  bool by_rate = false;  // the rate is what binds

  double load() const { return gives > PerSecond(0) ? asked / gives : 1; }
};
std::optional<RetrievalAsk> retrieval_of(const Machine& machine, const design::Serve& serve,
                                         const Fleet& fleet);
// Lets every first token of a request wait for it.
void add_retrieval(serving::RequestShape& request, const Machine& machine,
                   const design::Serve& serve, const Fleet& fleet);

// Work of a batch on accelerators, and the pieces it falls into: as the design counts them, or of
// inference the requests over what a replica answers with its batch full, one piece a replica's
// device.
struct BatchWork {
  double accelerator_hours = 0;
  int tasks = 1;
  PerSecond rate;  // requests of one replica
  int devices = 1;
  std::string infeasible;
};
BatchWork accelerator_work(const Machine& machine, const design::Batch& batch, const Fleet& fleet);
// A piece that begins anew whenever its host is lost, at a rate, takes (e^(rate T) - 1) / (rate T)
// of its time T: memoryless faults (Duda 1983, IPL 16:221).
double work_again(Seconds piece, PerSecond lost);

// What a replica of the service has of its KV tier, of `replicas` that share it.
KvRoom kv_room(const Machine& machine, const design::Serve& serve, const Fleet& fleet,
               const ServingQuery& query, double replicas);

// What a plain network's products reach on one device of the fleet, or on its slice: a share of the
// peak in 16 bits (docs/models/plain-network.md); none where it has no such products.
std::optional<FlopsPerSecond> plain_rate(const Machine& machine, const Fleet& fleet);

// Where a zone's traffic is answered; nullptr where nothing stands.
const Fleet* fleet_of_zone(const std::vector<Fleet>& fleets, const design::Zone& zone);

// A way that a zone's requests may take when their own site cannot answer them.
struct FailoverWay {
  std::size_t zone = 0;  // of the same service
  WanPath path;
  Seconds carry;  // a request's bytes over its slowest line

  // What the way adds to a first token.
  Seconds away() const { return path.latency + carry; }
};
// In the order in which the zone names their sites; none to a fleet outside its residency or the
// workload's, and none where no line leads.
std::vector<FailoverWay> failover_ways(const Machine& machine, const design::Workload& workload,
                                       std::size_t zone);
// That cross with one request: what the design says, else its text.
Bytes request_bytes(const design::Serve& serve, const serving::RequestShape& request);
// Farther than its first tokens may take a zone that has too much sends nobody.
Seconds farthest_failover(const design::Serve& serve);

// Where a replica loads from: as the design says, else the hot tier of its own site, else any; and
// how fast its devices' processes do, alone on the tier and on one host's ports.
const Tier* weights_tier(const Machine& machine, const design::Serve& serve, const Fleet& fleet);
BytesPerSecond weights_rate(const Machine& machine, const Tier& tier, const Fleet& fleet,
                            int devices);
// Until a replica that was placed answers: its weights and all else of a cold start; the image too
// where replicas come and go.
Seconds replica_start(const Machine& machine, const design::Serve& serve, const Fleet& fleet,
                      int devices);

}  // namespace orrery::machine
