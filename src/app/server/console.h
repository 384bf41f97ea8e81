// All that answers a request but the sockets: access, routes, counters.
//
//   Request -> check_access -> RequestRouter -> Response
// Routes stand by subject in routes_*.cpp and follow docs/api/openapi.yaml. They are functions of
// the request and of what a Console holds, so a test asks them without a socket.
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
  bool sample = false;  // none was named
};

// What a console is given; all of it outlives the console.
struct ConsoleSetting {
  const machine::Models& models;
  std::string version;
  std::function<Result<ServedDesign>()> served;
  // Puts a text in the served file's place, whole or not at all; none: nothing may be written.
  std::function<Result<void>(const std::string& text)> save = nullptr;
  // Files beside the served design; none: it may name no files.
  catalog::ReadFile read_file = nullptr;
  // The object store whose state is shown, and how to ask for it; empty: there is none.
  std::string store = {};
  std::function<Result<std::string>()> store_status = nullptr;
  std::shared_ptr<ServerLoad> load = std::make_shared<ServerLoad>();
  // Requests with large work (work.h) at once, and those that may wait for their turn.
  int large_most = 2;
  int large_waiting_most = 4;

  const catalog::Catalog& catalog() const { return models.catalog(); }
};

class Console {
 public:
  // `store` keeps the jobs.
  static Result<std::unique_ptr<Console>> open(ConsoleSetting setting,
                                               std::unique_ptr<JobStore> store);

  Response answer(const Request& request, const AccessRules& rules) const;
  // The same for a server that answers in place: what is not quick is put off (Response::later).
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

// 202 with the job, or why it is refused.
Response start_job(const Console& console, Result<Job> job);

}  // namespace orrery::server
