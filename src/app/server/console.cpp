#include "app/server/console.h"

#include <chrono>
#include <iterator>

#include "app/server/problem.h"
#include "plan/verdict/verdict.h"

namespace orrery::server {
namespace {

std::vector<Route> all_routes(const Console& console) {
  std::vector<Route> all;
  for (auto* part :
       {page_routes, knowledge_routes, design_routes, job_routes, run_routes, store_routes}) {
    std::vector<Route> routes = part(console);
    std::ranges::move(routes, std::back_inserter(all));
  }
  return all;
}

std::function<Result<std::string>()> text_of(const ConsoleSetting& setting) {
  return [&setting]() -> Result<std::string> {
    Result<ServedDesign> served = setting.served();
    if (!served) return std::unexpected(std::move(served.error()));
    return std::move(served->text);
  };
}

Response busy() {
  Response response = problem(503, "the console is busy with other large designs");
  response.headers.emplace_back("Retry-After", "2");
  return response;
}

}  // namespace

Console::Console(ConsoleSetting setting)
    : setting_(std::move(setting)),
      files_(setting_.catalog(), text_of(setting_), setting_.read_file),
      layout_jobs_{.models = setting_.models, .files = files_.reader()},
      run_jobs_(setting_.models, files_.reader()),
      reviews_(setting_.models),
      large_(setting_.large_most, setting_.large_waiting_most),
      router_(all_routes(*this)) {}

Result<std::unique_ptr<Console>> Console::open(ConsoleSetting setting,
                                               std::unique_ptr<JobStore> store) {
  std::unique_ptr<Console> console(new Console(std::move(setting)));
  const LayoutJobs& layouts = console->layout_jobs_;
  const RunJobs& runs = console->run_jobs_;
  auto jobs = JobBoard::open(
      std::move(store),
      {{kLayoutTask, [&layouts](JobRun& run) { return run_layout_job(layouts, run); }},
       {kRunTask, [&runs](JobRun& run) { return runs.work(run); }}});
  if (!jobs) return std::unexpected(std::move(jobs.error()));
  console->jobs_ = std::move(*jobs);
  return console;
}

Response Console::answer(const Request& request, const AccessRules& rules) const {
  const auto start = std::chrono::steady_clock::now();
  std::optional<Response> refusal = check_access(request, rules);
  std::string_view pattern = "refused";
  Response response;
  if (refusal) {
    response = std::move(*refusal);
  } else {
    const bool is_large = work_of(router_.pattern_of(request)) == Work::large;
    const LargeGate::Turn turn =
        is_large ? large_.enter(request.abandoned) : LargeGate::Turn(nullptr);
    if (is_large && !turn) {
      response = busy();
    } else {
      RequestRouter::Answer answer = router_.answer(request);
      pattern = answer.pattern;
      response = std::move(answer.response);
    }
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  metrics_.count(pattern, request.method, response.status, taken.count());
  return response;
}

Response Console::answer_in_place(const Request& request,
                                  const std::shared_ptr<const AccessRules>& rules) const {
  if (work_of(router_.pattern_of(request)) == Work::quick) return answer(request, *rules);
  return {.later = [this, &request, rules] { return answer(request, *rules); }};
}

}  // namespace orrery::server
