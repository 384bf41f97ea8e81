// Reviews kept for the next keystroke.
//
// Most of a review's time goes into the steps of its training runs, its services and the build
// schedule. None of them depends on the design's names, its money or its goals, so a design that
// differs from a kept one in these alone takes them over and gets the same verdict, to the byte,
// several times sooner. The shelf holds the few designs that were asked about last.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "design/design.h"
#include "machine/models.h"
#include "plan/verdict.h"

namespace orrery {

class ReviewShelf {
 public:
  ReviewShelf(const Catalog& catalog, const Models& models) : catalog_(catalog), models_(models) {}

  // As review(design, catalog, models); from any thread.
  Verdict review(design::Design design);

 private:
  struct Kept;  // a design and the stages of its review, which point into it
  std::shared_ptr<const Kept> find(const std::string& key);
  void keep(std::shared_ptr<const Kept> kept);

  static constexpr std::size_t kMost = 32;

  const Catalog& catalog_;
  const Models& models_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const Kept>> kept_;  // asked about last first
};

}  // namespace orrery
