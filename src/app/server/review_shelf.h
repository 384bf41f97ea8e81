// Reviews kept for the next keystroke.
//
// Most of a review's time goes into the steps of its training runs, its services and the build
// schedule. None of them depends on the design's names, its money or its goals, so a design that
// differs from a kept one in these alone takes them over and gets the same verdict, to the byte,
// several times sooner. The shelf holds the few designs that were asked about last. A design that
// names files is reviewed anew each time, since a file may have changed under its name.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

#include "model/design/design.h"
#include "model/machine/models.h"
#include "plan/review/stages.h"
#include "plan/verdict/verdict.h"

namespace orrery::server {

class ReviewShelf {
 public:
  explicit ReviewShelf(const machine::Models& models) : models_(models) {}

  // As review(design, models) and run_stages(design, models); from any thread.
  verdict::Verdict review(design::Design design);
  std::shared_ptr<const review::Review> stages(design::Design design);

 private:
  struct Kept {
    design::Design machines;  // without its names, its money and its goals
    std::shared_ptr<const review::Review> stages;
  };
  std::shared_ptr<const review::Review> find(const design::Design& machines);
  void keep(Kept kept);

  static constexpr std::size_t kMost = 32;

  const machine::Models& models_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // asked about last first
};

}  // namespace orrery::server
