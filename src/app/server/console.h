// Everything of the server except the sockets: access, routes, counters.
//
//   Request -> check_access -> RequestRouter -> Response
//
// The routes are grouped by subject in routes_*.cpp and follow docs/api/openapi.yaml. They are
// functions of the request and of what a Console holds, so tests call them without a socket.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/server/access.h"
#include "app/server/job_board.h"
#include "app/server/layout_job.h"
#include "app/server/message.h"
#include "app/server/metrics.h"
#include "app/server/once.h"
#include "app/server/review_shelf.h"
#include "app/server/router.h"
#include "app/server/run_job.h"
#include "app/server/served_files.h"
#include "app/server/work.h"
#include "model/machine/models.h"

namespace orrery::server {

// The design that the server was started with, as it is on disk now.
struct ServedDesign {
  std::string file;
  std::string text;
  bool sample = false;  // no file was named
};

// Inputs of a console; all of them outlive it.
struct ConsoleSetting {
  const machine::Models& models;
  std::string version;
  std::function<Result<ServedDesign>()> served;
  // Replaces the served file with a text, completely or not at all; none: writing is not allowed.
  std::function<Result<void>(const std::string& text)> save = nullptr;
  // Reads files beside the served design; none: the design may name no files.
  catalog::ReadFile read_file = nullptr;
  // URL of the object store to show; empty: none.
  std::string store = {};
  std::function<Result<std::string>()> store_status = nullptr;
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
  // Large requests (work.h) that may run at once, and that may wait for their turn.
  int large_most = 2;
  int large_waiting_most = 4;

  const catalog::Catalog& catalog() const { return models.catalog(); }
};

class Console {
 public:
  // Opens a console that keeps its jobs in `store`.
  static Result<std::unique_ptr<Console>> open(ConsoleSetting setting,
                                               std::unique_ptr<JobStore> store);

  Response answer(const Request& request, const AccessRules& rules) const;
  // Answers as a server that answers in place needs it: slow work is postponed (Response::later).
  Response answer_in_place(const Request& request,
                           const std::shared_ptr<const AccessRules>& rules) const;

  const ConsoleSetting& setting() const { return setting_; }
  ServedFiles& files() const { return files_; }
  const LayoutJobs& layout_jobs() const { return layout_jobs_; }
  const RunJobs& run_jobs() const { return run_jobs_; }
  JobBoard& jobs() const { return *jobs_; }
  Metrics& metrics() const { return metrics_; }
  OnceTexts& accuracy() const { return accuracy_; }
  ReviewShelf& reviews() const { return reviews_; }
  const RequestRouter& router() const { return router_; }

 private:
  explicit Console(ConsoleSetting setting);

  const ConsoleSetting setting_;
  mutable ServedFiles files_;
  const LayoutJobs layout_jobs_;
  const RunJobs run_jobs_;
  mutable Metrics metrics_;
  mutable OnceTexts accuracy_;
  mutable ReviewShelf reviews_;
  mutable LargeGate large_;
  const RequestRouter router_;
  std::unique_ptr<JobBoard> jobs_;
};

std::vector<Route> page_routes(const Console& console);
std::vector<Route> knowledge_routes(const Console& console);
std::vector<Route> design_routes(const Console& console);
std::vector<Route> job_routes(const Console& console);
std::vector<Route> run_routes(const Console& console);
std::vector<Route> store_routes(const Console& console);

// Returns 202 with the job, or the refusal.
Response start_job(const Console& console, Result<Job> job);

}  // namespace orrery::server
