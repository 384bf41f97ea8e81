#include "machine/models.h"

namespace orrery {

Result<Models> load_models(const Catalog& catalog) {
  auto training = load_training_models(catalog);
  if (!training) return std::unexpected(std::move(training.error()));
  auto collectives = embedded_collective_parameters();
  if (!collectives) return std::unexpected(std::move(collectives.error()));
  return Models{std::move(*training), std::move(*collectives)};
}

}  // namespace orrery
