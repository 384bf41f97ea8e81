// How long the server takes for a request, without the sockets.
#include <algorithm>

#include "app/server/console.h"
#include "bench/figure.h"
#include "core/catalog/embedded.h"
#include "model/design_text/templates.h"

namespace orrery {
namespace {

constexpr int kServerTries = 7;

// The minimum of a few requests; each design differs from the earlier ones at `line`.
Result<double> answer_plan(const std::string& line, const std::string& unit) {
  const auto models = machine::load_models(catalog::embedded_files());
  if (!models) return std::unexpected(models.error());
  auto store = server::JobStore::open(server::kStoreInMemory);
  if (!store) return std::unexpected(store.error());
  const auto console = server::Console::open({.models = *models}, std::move(*store));
  if (!console) return std::unexpected(console.error());
  const std::string text(design_text::find_template("superpod-h100")->text);
  double least = 1e9;
  for (int i = 0; i < kServerTries; ++i) {
    net::Request request{.method = "POST",
                         .target = "/api/v1/plan",
                         .headers = {{"Host", "127.0.0.1:1"}, {"Authorization", "Bearer t"}},
                         .body = text};
    request.body.replace(text.find(line), line.size() + unit.size(),
                         line + std::to_string(i) + unit);
    net::Response response;
    const double taken =
        seconds_of([&] { response = (*console)->answer(request, {.port = 1, .token = "t"}); });
    if (response.status != 200) return fail({.code = "bench", .what = response.body});
    least = std::min(least, taken);
  }
  return least;
}

}  // namespace

std::vector<SpeedFigure> server_figures() {
  return {{.name = "server_plan",
           .unit = "s",
           .what = "POST /api/v1/plan of the 1,016-GPU sample after its site was edited",
           .measure = [] { return answer_plan("power: 2", " MW"); }},
          {.name = "server_plan_price",
           .unit = "s",
           .what = "the same after a price was edited; steps and services are reused",
           .measure = [] { return answer_plan("power_price: 0.08", " USD/kWh"); }}};
}

}  // namespace orrery
