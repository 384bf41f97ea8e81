#include <fmt/core.h>

#include <algorithm>

#include "core/catalog/config_json.h"
#include "core/catalog/named_file.h"
#include "model/design_text/checks.h"

namespace orrery::design_text {

ValueReader::Fault no_files(const std::string& name, std::string way_out) {
  return {"design.no-files", fmt::format("`{}` cannot be read here", name),
          "files cannot be read from here", std::move(way_out)};
}

void check_local_model(design::Design& design, ValueReader& values,
                       const catalog::ReadFile& read_file, const std::string& name,
                       const std::string& path) {
  const auto complain = [&](ValueReader::Fault fault) {
    values.complain(design.places.find(path), std::move(fault));
  };
  const auto& known = design.local_models;
  if (std::ranges::find(known, name, &design::LocalModel::path) != known.end()) return;
  const auto text = catalog::named_file(read_file, name);
  if (!text) return complain(no_files(name, "name a model of the catalog"));
  auto shape = *text ? catalog::model_from_config_json(**text, name)
                     : Result<catalog::ModelShape>(std::unexpected(text->error()));
  if (shape) {
    design.local_models.push_back({name, *std::move(shape)});
    return;
  }
  for (const Diagnostic& fault : shape.error()) {
    complain({"design.model-file", fmt::format("`{}`: {}", name, fault.what), fault.why,
              fault.fix});
  }
}

}  // namespace orrery::design_text
