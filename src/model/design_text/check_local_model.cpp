#include <fmt/core.h>

#include <algorithm>

#include "core/catalog/config_json.h"
#include "core/catalog/named_file.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {

ValueReader::Fault no_files(const std::string& name, const char* way_out) {
  return {"design.no-files", fmt::format("`{}` cannot be read here", name),
          "files cannot be read from here", way_out};
}

void check_local_model(design::Design& design, ValueReader& values,
                       const catalog::ReadFile& read_file, const LocalModelPlace& at) {
  if (std::ranges::find(design.local_models, at.name, &design::LocalModel::path) !=
      design.local_models.end())
    return;
  const auto complain = [&](ValueReader::Fault fault) {
    values.complain(design.places.find(at.path), std::move(fault));
  };
  const auto text = catalog::named_file(read_file, at.name);
  if (!text) return complain(no_files(at.name, "name a model of the catalog"));
  auto shape = *text ? catalog::model_from_config_json(**text, at.name)
                     : Result<catalog::ModelShape>(std::unexpected(text->error()));
  if (shape) {
    design.local_models.push_back({at.name, *std::move(shape)});
    return;
  }
  for (const Diagnostic& fault : shape.error()) {
    complain(
        {"design.model-file", fmt::format("`{}`: {}", at.name, fault.what), fault.why, fault.fix});
  }
}

}  // namespace orrery::design_text
