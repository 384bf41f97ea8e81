// What one request of a service asks for: its lengths, the shared part of its prompt, and its
// objectives.
//
// Built-in mixes: chat and code are the medians and 99th percentiles of the Azure 2023 conversation
// and code traces; summary is assumed, its 99th percentiles at four medians. Lengths of a mix are
// log-normal with mean = median exp(s^2 / 2), s = ln(p99 / median) / 2.326: a closed form loads a
// replica with the means. Lengths that the design gives are means, and every request then has them.
#pragma once

#include <optional>

#include "layers/serving/steady_state.h"
#include "layers/traffic/load.h"
#include "layers/traffic/talks.h"
#include "model/machine/machine.h"

namespace orrery::jobs {

struct ServeLengths {
  traffic::LengthLaw prompt;  // length of a task's first call
  // tokens that a tool's answer adds before each later call
  std::optional<traffic::LengthLaw> later;
  traffic::LengthLaw output;
};
ServeLengths lengths_of(const design::Serve& serve);

// Returns the mean request. In a conversation, that is the average turn including its history.
// Assumes that the prefix cache holds all of the history; settle_conversations() corrects that.
serving::RequestShape request_of(const machine::Machine& machine, const design::Serve& serve);

// Returns the bytes that cross a line with one request: what the design says, or else its text.
Bytes request_bytes(const design::Serve& serve, const serving::RequestShape& request);

// Returns the bounds per token that follow from the objectives. A bound on whole requests or tasks
// bounds their tokens: none may take longer than its share.
serving::ServingTarget target_of(const design::Serve& serve, double output_tokens);

// Returns a task of the service's agents at a replica's load; a service without agents has tasks of
// one call.
traffic::TaskCase task_of(const design::Serve& serve, const serving::RequestShape& request,
                          const serving::ServingPoint& point);

}  // namespace orrery::jobs
