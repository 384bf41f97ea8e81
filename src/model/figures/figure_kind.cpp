#include "model/figures/figure_kind.h"

#include <algorithm>

namespace orrery::figures {
const char* to_text(Layer layer) {
  switch (layer) {
    case Layer::compute:
      return "compute";
    case Layer::training:
      return "training";
    case Layer::serving:
      return "serving";
    case Layer::fabric:
      return "fabric";
    case Layer::storage:
      return "storage";
    case Layer::cluster:
      return "cluster";
    case Layer::failure:
      return "failure";
    case Layer::facility:
      return "facility";
    case Layer::cost:
      return "cost";
  }
  return "compute";
}

std::string id_text(FigureId id, std::string_view of) {
  std::string text(kind_of(id).word);
  if (of.empty()) return text;
  text += '_';
  text += of;
  std::ranges::replace(text, ' ', '_');
  return text;
}

std::string label_text(FigureId id, std::string_view of) {
  std::string text(kind_of(id).label);
  const auto at = text.find("{}");
  if (at != std::string::npos) text.replace(at, 2, of);
  return text;
}

}  // namespace orrery::figures
