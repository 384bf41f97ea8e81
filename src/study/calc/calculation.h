// One question answered with its arithmetic shown: what `orrery calc` prints and the console draws.
#pragma once

#include <string>
#include <vector>

#include "model/figures/figure.h"

namespace orrery::calc {

struct Calculation {
  std::string question;  // "How large is a checkpoint, and how long does it take to write?"
  std::string answer;    // in one sentence
  std::vector<figures::Number> figures;
  std::vector<std::string> assumptions;
  std::string command;  // the command line that asks this question
};

}  // namespace orrery::calc
